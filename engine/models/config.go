package models

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/go-multierror"
)

// The providers of a Config.
const (
	Anthropic        = "anthropic"
	OpenAICompatible = "openai-compatible"
)

const (
	anthropicURL = "https://api.anthropic.com"
	openAIURL    = "https://api.openai.com/v1"
)

// A Config says which model to ask, and how patiently. Zero fields are defaults.
type Config struct {
	Provider string // Anthropic or OpenAICompatible
	Name     string // of the model, as the provider spells it
	// BaseURL is the provider's own if empty. For Anthropic it ends before /v1, for
	// OpenAICompatible with what stands before /chat/completions.
	BaseURL string
	Key     string `json:"-"` // sent to the host of BaseURL only; may be empty where KeyOptional

	Timeout     time.Duration // of a call, with its repetitions; 0 means 10 minutes
	IdleTimeout time.Duration // without one byte from the server; 0 means 90 seconds
	Retries     int           // after the first attempt; 0 means 4, -1 none
	Prices      *Prices       // nil leaves the cost unknown

	// Backoff is how long to wait before repetition n, from 0; nil means half a second,
	// doubled each time up to 30 seconds, less up to half of it at random. A Retry-After
	// that is longer takes its place.
	Backoff func(n int) time.Duration
	// Sleep waits for d or for the end of ctx; nil means by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// String and GoString keep the key out of logs that print a Config.
func (cfg Config) String() string   { return cfg.Provider + "/" + cfg.Name }
func (cfg Config) GoString() string { return cfg.String() }

// New returns the model that cfg names. Its error lists every fault of cfg, and never
// shows the key.
func New(cfg Config) (Model, error) {
	cfg = cfg.withDefaults()
	base, err := cfg.check()
	if err != nil {
		return nil, err
	}
	door := newWire(cfg, base)
	c := &client{cfg: cfg}
	switch cfg.Provider {
	case Anthropic:
		c.wire = newAnthropic(cfg, base, door)
	case OpenAICompatible:
		c.wire = newOpenAI(cfg, base, door)
	}
	return c, nil
}

// withDefaults fills what is zero, and leaves what is wrong for check.
func (cfg Config) withDefaults() Config {
	if cfg.BaseURL == "" {
		cfg.BaseURL = ownURL(cfg.Provider)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Minute
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = 90 * time.Second
	}
	switch cfg.Retries {
	case 0:
		cfg.Retries = 4
	case -1:
		cfg.Retries = 0
	}
	if cfg.Backoff == nil {
		cfg.Backoff = backoff
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	return cfg
}

func ownURL(provider string) string {
	switch provider {
	case Anthropic:
		return anthropicURL
	case OpenAICompatible:
		return openAIURL
	}
	return ""
}

// check finds all faults of a cfg with defaults.
func (cfg Config) check() (*url.URL, error) {
	var faults *multierror.Error
	fault := func(format string, args ...any) {
		faults = multierror.Append(faults, fmt.Errorf("models: "+format, args...))
	}
	if ownURL(cfg.Provider) == "" {
		fault("provider %q: want %s or %s", cfg.Provider, Anthropic, OpenAICompatible)
	}
	if cfg.Name == "" || strings.ContainsFunc(cfg.Name, notPrinted) {
		fault("name %q: want the model's name, without spaces", cfg.Name)
	}
	base, err := checkURL(cfg.BaseURL)
	if err != nil && cfg.BaseURL != "" {
		fault("baseUrl: %w", err)
	}
	if err := cfg.checkKey(base); err != nil {
		fault("key: %w", err)
	}
	if cfg.Timeout < 0 || cfg.IdleTimeout < 0 {
		fault("timeouts must be positive")
	}
	if cfg.Retries < 0 {
		fault("retries %d: want -1 for none, or more", cfg.Retries)
	}
	if err := cfg.Prices.check(); err != nil {
		fault("%w", err)
	}
	return base, faults.ErrorOrNil()
}

// checkURL keeps credentials out of the base URL, where logs and errors would show them,
// and does not repeat a URL that it refuses.
func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("not a URL: want https://host/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with https:// or http://")
	case u.Hostname() == "":
		return nil, errors.New("names no host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password: name the key's variable with apiKeyEnv")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("must not hold a query or fragment")
	}
	return u, nil
}

// checkKey finds a key that is missing, that would travel in the clear, or that would
// break the header it is sent in. Without a valid base nothing is said of it.
func (cfg Config) checkKey(base *url.URL) error {
	switch {
	case base == nil:
		return nil
	case cfg.Key == "" && !KeyOptional(cfg):
		return errors.New("missing: set the variable that apiKeyEnv names")
	case cfg.Key != "" && base.Scheme == "http" && !isLoopback(base):
		return errors.New("would be sent in the clear: use https, or http to this machine only")
	case strings.ContainsFunc(cfg.Key, notPrinted):
		return errors.New("holds white space, a control character or a letter beyond ASCII: it must be the key alone")
	}
	return nil
}

// notPrinted reports what may stand in no key and in no model's name.
func notPrinted(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 }

// KeyOptional reports whether cfg may do without a key: its server is on this machine, or
// behind plain http, where a key would not be sent anyway.
func KeyOptional(cfg Config) bool {
	u, err := url.Parse(cfg.BaseURL)
	return err == nil && (u.Scheme == "http" || isLoopback(u))
}

// Local reports whether the server of cfg is on this machine.
func Local(cfg Config) bool {
	u, err := url.Parse(cfg.BaseURL)
	return err == nil && isLoopback(u)
}

func isLoopback(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// keyEnvs are the variables that the providers' own documentation uses.
var keyEnvs = map[string]string{
	"api.anthropic.com":                 "ANTHROPIC_API_KEY",
	"api.openai.com":                    "OPENAI_API_KEY",
	"openrouter.ai":                     "OPENROUTER_API_KEY",
	"generativelanguage.googleapis.com": "GEMINI_API_KEY",
}

// DefaultKeyEnv names the environment variable that usually holds the key: by the host of
// baseURL, and for a server on this machine by the provider (ANTHROPIC_API_KEY or
// OPENAI_API_KEY). It is empty for any other host: the key of one company must not be sent
// to another because a task says baseUrl, so the task must say apiKeyEnv as well.
func DefaultKeyEnv(provider, baseURL string) string {
	if baseURL == "" {
		baseURL = ownURL(provider)
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	if isLoopback(u) {
		u, _ = url.Parse(ownURL(provider)) // a constant
	}
	return keyEnvs[strings.ToLower(u.Hostname())]
}
