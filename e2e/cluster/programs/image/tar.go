package main

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// layerOf is the folder as a tar, everything owned by root at time zero. Links stay links.
func layerOf(folder string) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	// WalkDir goes in lexical order, which makes the layer reproducible.
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		return addEntry(writer, folder, path, entry)
	})
	if err != nil {
		return nil, err
	}
	return buffer.Bytes(), writer.Close()
}

func addEntry(writer *tar.Writer, folder, path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	target := ""
	if entry.Type() == fs.ModeSymlink {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	from, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: from.Typeflag, Name: name, Linkname: target, Mode: from.Mode, Size: from.Size}
	if err := writer.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = writer.Write(content)
	return err
}

// tarOf puts files into an archive in the order of their names.
func tarOf(files map[string][]byte) []byte {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		_, _ = writer.Write(files[name])
	}
	_ = writer.Close()
	return buffer.Bytes()
}
