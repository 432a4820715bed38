//go:build !race

package scan_test

const raced = false
