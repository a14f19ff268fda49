//! What may be written on a pod template or a Service instead of a resource.
