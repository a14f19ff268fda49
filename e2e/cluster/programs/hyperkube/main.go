// Command hyperkube holds every Kubernetes component of a single node, and etcd and kubectl.
// The name it is called by (a symbolic link) or else its first argument picks the component.
//
// One program instead of seven: they share most of their packages, so it links once, and takes
// 145 MB where seven take 500.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	_ "time/tzdata" // CronJobs name time zones, and the machine may have no zoneinfo

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // log format json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests to the API server
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Each is made only when asked for: making one registers flags and metrics that would clash with
// another's.
var components = map[string]func() *cobra.Command{
	"kube-apiserver":          func() *cobra.Command { return apiserver.NewAPIServerCommand() },
	"kube-controller-manager": func() *cobra.Command { return controllers.NewControllerManagerCommand() },
	"kube-proxy":              func() *cobra.Command { return proxy.NewProxyCommand() },
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 func() *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	name := componentName()
	if name == "etcd" { // reads os.Args itself and never returns
		etcdmain.Main(os.Args)
	}
	command, known := components[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: hyperkube COMPONENT [ARGS], of etcd and", slices.Sorted(maps.Keys(components)))
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}

// componentName takes the first argument away when it was what named the component.
func componentName() string {
	name := filepath.Base(os.Args[0])
	if name == "hyperkube" && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	return name
}
