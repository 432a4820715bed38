package sandbox

import (
	"runtime"
	"sync"
)

// spareThreads are more than a process of this program has goroutines in system calls, and one to run the others.
const spareThreads = 4

// makeThreads has the Go runtime make now the threads that it may want later: it ends the process if it gets none when it wants one, as
// where the process table is full. It keeps those that are idle. With one processor it wants no more for what could run at once.
func makeThreads() {
	runtime.GOMAXPROCS(1)
	var held, ended sync.WaitGroup
	enough := make(chan struct{})
	for range spareThreads {
		held.Add(1)
		ended.Go(func() { // each has a thread of its own until all have one
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			<-enough
		})
	}
	held.Wait()
	close(enough)
	ended.Wait()
}
