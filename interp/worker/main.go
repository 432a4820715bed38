package worker

import (
	"context"
	"fmt"
	"os"
)

// Marker is the last argument of a process that is a worker.
const Marker = "codeact-interp-worker"

// hostFD is the socket to the host, the first of exec.Cmd's ExtraFiles.
const hostFD = 3

// Main is the whole life of a worker process; it does not return. The exit status is 0 if the host closed the session.
func Main() {
	confine := Confined()
	if err := rebirth(); err != nil {
		fmt.Fprintln(os.Stderr, "worker: landlock before the start:", err) // the host learns it from the hello
	}
	if err := Serve(context.Background(), os.NewFile(hostFD, "host"), confine); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	os.Exit(0)
}

// Exit statuses.
const (
	exitRuntime = 2 // of a Go program that its runtime ended; not ours to choose
	exitFailed  = 3
	exitCPU     = 4 // the processor time limit
)
