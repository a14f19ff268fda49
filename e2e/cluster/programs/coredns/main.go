// Command coredns is CoreDNS with the few plugins that a cluster without a way out can use.
// There is no forward plugin: a name outside the cluster is refused at once. There is no cache:
// answers come from memory, and a Service resolves as soon as it is there.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	coremain.Run()
}
