package mcp

import "time"

// What tests look at directly.
var (
	ToolName = toolName
	Diff     = diff
	Labels   = labels
)

// StartWithin shortens the time that servers have to start.
func (c *Config) StartWithin(d time.Duration) { c.testOnlyStart = d }

// Identity is what a pin binds of a server beside its tools.
func (c *Config) Identity(s Server) string { return c.identity(s) }

// NewTail makes what keeps a server's standard error.
func NewTail(max int) interface {
	Write([]byte) (int, error)
	String() string
} {
	return &tail{max: max}
}
