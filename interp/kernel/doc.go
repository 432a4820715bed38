// Package kernel has the kernel refuse things to a thread, or to every thread of this process: system calls, by seccomp, and files,
// TCP and signals, by landlock.
//
// What is refused is gone for good, also for whatever the thread starts. What landlock does not govern (to change modes and owners, to
// see that a file exists) only a Filter refuses, and a Filter sees arguments but not what they point to. A list of refused calls knows
// nothing of the calls of later kernels; a list of allowed ones needs not to.
package kernel
