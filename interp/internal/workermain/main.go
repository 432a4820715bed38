// Command workermain is a program that is a worker and nothing else, for tests.
package main

import (
	"fmt"
	"os"

	"github.com/codeact-dev/codeact/interp"
)

func main() {
	interp.MaybeWorker()
	fmt.Fprintln(os.Stderr, "workermain: only package interp starts this program")
	os.Exit(2)
}
