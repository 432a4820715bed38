//go:build !linux

package main

import "os"

// flushTerminal does nothing here: only what the program had read already is
// dropped, so a key pressed early can still answer a question.
func flushTerminal(*os.File) {}
