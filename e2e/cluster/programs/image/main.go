// Command image writes a folder as an OCI image archive with one layer, without a container engine.
// The same folder gives the same bytes: owners and times are fixed, entries are in order.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: image FOLDER NAME:TAG OUT.tar [ENTRYPOINT...]")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(folder, name, out string, entrypoint []string) error {
	_, tag, found := strings.Cut(name, ":")
	if !found {
		return fmt.Errorf("%q has no tag: write NAME:TAG", name)
	}
	layer, err := layerOf(folder)
	if err != nil {
		return fmt.Errorf("reading %s: %w", folder, err)
	}
	image := archive{blobs: map[string][]byte{}}
	config := image.addJSON("application/vnd.oci.image.config.v1+json", object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": entrypoint, "Env": []string{"PATH=/bin"}, "WorkingDir": "/"},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	manifest := image.addJSON("application/vnd.oci.image.manifest.v1+json", object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
		"layers": []any{image.add("application/vnd.oci.image.layer.v1.tar+gzip", compress(layer))},
	})
	manifest["annotations"] = object{
		"io.containerd.image.name":          name, // the name that containerd gives it on import
		"org.opencontainers.image.ref.name": tag,
	}
	return os.WriteFile(out, image.tar(manifest), 0o644)
}

type object map[string]any

// archive is an OCI image layout in the making: every blob under its digest.
type archive struct{ blobs map[string][]byte }

func (a archive) add(mediaType string, blob []byte) object {
	a.blobs[digest(blob)] = blob
	return object{"mediaType": mediaType, "digest": digest(blob), "size": len(blob)}
}

func (a archive) addJSON(mediaType string, value object) object {
	return a.add(mediaType, encode(value))
}

func (a archive) tar(manifest object) []byte {
	files := map[string][]byte{
		"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`),
		"index.json": encode(object{"schemaVersion": 2, "manifests": []any{manifest}}),
	}
	for digest, blob := range a.blobs {
		files["blobs/"+strings.Replace(digest, ":", "/", 1)] = blob
	}
	return tarOf(files)
}

func digest(blob []byte) string {
	sum := sha256.Sum256(blob)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// encode cannot fail: the values are maps, slices, strings and numbers. Keys come out in order.
func encode(value object) []byte {
	encoded, _ := json.Marshal(value)
	return encoded
}

// compress and the tar writers write to memory, which takes every byte: their errors are void.
func compress(layer []byte) []byte {
	var buffer bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	_, _ = writer.Write(layer)
	_ = writer.Close()
	return buffer.Bytes()
}
