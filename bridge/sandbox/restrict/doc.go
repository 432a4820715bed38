// Package restrict is what a command that nobody trusts must not have: the lists of files and system calls that package kernel refuses.
//
// What it takes is gone for the thread and for all that the thread starts, for good; other threads of the process keep it. So it is for
// a process that locks its thread and becomes another program. What landlock does not govern (to change modes and owners, to see that a
// file exists) only Calls refuses, and only for a box without namespaces. A call that is newer than the lists is not refused.
package restrict
