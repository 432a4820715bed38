// Package kerneltest asks a filter about system calls that nobody makes. It runs the program that the kernel would run, and proves
// nothing of how it was installed.
package kerneltest
