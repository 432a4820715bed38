package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// serverName leaves room for a tool's name within a bridge tool's 64 bytes.
var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// check returns every fault of the servers, and who of them cannot be used for
// want of an approval: what is refused for that is not even started.
func (c *Config) check() error {
	faults := c.faults()
	if len(c.Servers) > 0 && c.Pins == nil {
		faults = append(faults, errors.New("mcp: there are no pins: servers cannot be used without"))
	}
	if err := joined(faults); err != nil {
		return err
	}
	for _, s := range c.Servers {
		if err := c.Pins.ready(s, c); err != nil {
			faults = append(faults, err)
		}
	}
	return joined(faults)
}

func (c *Config) faults() (faults []error) {
	seen := map[string]bool{}
	for _, s := range c.Servers {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("mcp: server %s: "+format, append([]any{scan.Line(s.Name, 64)}, args...)...))
		}
		if !serverName.MatchString(s.Name) {
			fault("the name must match %s", serverName)
		}
		if seen[fold(s.Name)] {
			fault("there are two of this name")
		}
		seen[fold(s.Name)] = true
		if (s.Command == "") == (s.URL == "") {
			fault("it needs a command or a url, and not both")
		}
		if s.URL != "" {
			if err := c.checkURL(s); err != nil {
				fault("%w", err)
			}
		}
		if s.Tier == policy.Free && !s.AllowFree {
			fault("tier 0 is for the home config to give: a task can say 1 or 2")
		}
		if s.Timeout < 0 {
			fault("timeout is negative")
		}
	}
	return faults
}

func (c *Config) checkURL(s Server) error {
	u, err := url.Parse(s.URL)
	switch {
	case c.Transport == nil:
		return errors.New("this run has no network, which its url needs")
	case err != nil:
		return errors.New("its url cannot be read") // the cause quotes it, and a url can hold a secret
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		return errors.New("its url must be https://host/path, without a user")
	case u.Scheme == "http" && len(s.Headers) > 0 && !loopback(u.Hostname()):
		return errors.New("its headers would be sent unencrypted: use https")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c *Config) startTimeout() time.Duration { return cmp.Or(c.testOnlyStart, startTimeout) }

func (s *Server) timeout() time.Duration { return cmp.Or(s.Timeout, DefaultTimeout) }

// identity is what a pin binds beside the tools: what is run or reached, with the
// names of its variables and headers, without their values. A secret that changes
// changes no pin, and none can be guessed from one.
func (c *Config) identity(s Server) string {
	text, _ := json.Marshal(struct { // texts and lists of texts always have a form
		Command string   `json:"command,omitempty"`
		Args    []string `json:"args,omitempty"`
		Cwd     string   `json:"cwd,omitempty"`
		Env     []string `json:"env,omitempty"`
		URL     string   `json:"url,omitempty"`
		Headers []string `json:"headers,omitempty"`
	}{s.Command, s.Args, s.Cwd, slices.Sorted(maps.Keys(s.Env)), s.URL, slices.Sorted(maps.Keys(s.Headers))})
	if c.Redact != nil {
		return c.Redact(string(text))
	}
	return string(text)
}
