package models

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNewListsEveryFault(t *testing.T) {
	_, err := New(Config{
		Provider: "opneai", Name: "two words", BaseURL: "ftp://x", Retries: -2,
		Timeout: -1, Prices: &Prices{Input: -1}, Key: testKey,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`provider "opneai": want anthropic or openai-compatible`, `name "two words"`, "baseUrl: must begin with https:// or http://",
		"retries -2", "timeouts", "prices",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{Provider: OpenAICompatible, Name: "m", Key: testKey}
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no provider", func(c *Config) { c.Provider = "" }, "provider"},
		{"no name", func(c *Config) { c.Name = "" }, "name"},
		{"no key", func(c *Config) { c.Key = "" }, "key: missing"},
		{"no key for a remote base", func(c *Config) { c.Key, c.BaseURL = "", "https://vllm.example/v1" }, "apiKeyEnv"},
		{"key with a line break", func(c *Config) { c.Key += "\n" }, "white space"},
		{"key beyond ASCII", func(c *Config) { c.Key += "ü" }, "ASCII"},
		{"key in the clear", func(c *Config) { c.BaseURL = "http://api.example/v1" }, "in the clear"},
		{"key to a name that begins like this machine's", func(c *Config) { c.BaseURL = "http://localhost.evil.test/v1" }, "in the clear"},
		{"user in the URL", func(c *Config) { c.BaseURL = "https://user:" + testKey + "@api.example/" }, "user or password"},
		{"query in the URL", func(c *Config) { c.BaseURL = "https://api.example/?k=" + testKey }, "query"},
		{"fragment in the URL", func(c *Config) { c.BaseURL = "https://api.example/#" + testKey }, "query or fragment"},
		{"no host", func(c *Config) { c.BaseURL = "https:///v1" }, "no host"},
		{"no URL", func(c *Config) { c.BaseURL = "https://" + testKey + "\x7f" }, "not a URL"},
		{"endless price", func(c *Config) { c.Prices = &Prices{Output: math.Inf(1)} }, "prices"},
		{"nameless price", func(c *Config) { c.Prices = &Prices{CachedInput: math.NaN()} }, "prices"},
		{"negative idle timeout", func(c *Config) { c.IdleTimeout = -1 }, "timeouts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			m, err := New(cfg)
			if m != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, %v; want an error with %q", m, err, tt.want)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("error shows the key: %v", err)
			}
		})
	}
}

func TestZeroFieldsAreTheDefaults(t *testing.T) {
	m, err := New(Config{Provider: Anthropic, Name: "m", Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	cfg := m.(*client).cfg
	if cfg.Timeout != 10*time.Minute || cfg.IdleTimeout != 90*time.Second || cfg.Retries != 4 || cfg.BaseURL != "https://api.anthropic.com" {
		t.Errorf("%s, %s, %d, %s", cfg.Timeout, cfg.IdleTimeout, cfg.Retries, cfg.BaseURL)
	}
}

func TestPrintingAModelOrAConfigShowsNoKey(t *testing.T) {
	cfg := Config{Provider: Anthropic, Name: "m", Key: testKey}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Backoff and Sleep are functions, which JSON refuses; the key must be out before that.
	field, _ := reflect.TypeFor[Config]().FieldByName("Key")
	if field.Tag.Get("json") != "-" {
		t.Error("JSON would show the key")
	}
	for _, text := range []string{
		fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg),
		fmt.Sprint(m), fmt.Sprintf("%+v", m), fmt.Sprintf("%#v", m),
	} {
		if strings.Contains(text, testKey) {
			t.Errorf("shows the key: %s", text)
		}
	}
	if m.Name() != "anthropic/m" {
		t.Errorf("Name() = %q", m.Name())
	}
}

func TestAKeyIsOptionalOnlyWhereItWouldNotBeSentAway(t *testing.T) {
	for base, want := range map[string]bool{
		"": false, "https://api.openai.com/v1": false, "https://vllm.example": false, "https://127.0.0.1.evil.test": false,
		"http://localhost:11434/v1": true, "http://127.0.0.1:8000": true, "http://[::1]:8000": true, "https://localhost": true,
		"http://vllm.lan:8000/v1": true, "://": false,
	} {
		if got := KeyOptional(Config{Provider: OpenAICompatible, BaseURL: base}); got != want {
			t.Errorf("KeyOptional(%q) = %v", base, got)
		}
		_, err := New(Config{Provider: OpenAICompatible, Name: "m", BaseURL: base})
		if (err == nil) != want {
			t.Errorf("New without a key for %q: %v", base, err)
		}
	}
}

func TestAKeysVariableIsThatOfTheHost(t *testing.T) {
	for _, tt := range []struct{ provider, base, want string }{
		{Anthropic, "", "ANTHROPIC_API_KEY"},
		{OpenAICompatible, "", "OPENAI_API_KEY"},
		{OpenAICompatible, "https://API.openai.com:443/v1", "OPENAI_API_KEY"},
		{OpenAICompatible, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
		{OpenAICompatible, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"},
		{OpenAICompatible, "http://localhost:11434/v1", "OPENAI_API_KEY"},
		{Anthropic, "http://127.0.0.1:8000", "ANTHROPIC_API_KEY"},
		{OpenAICompatible, "https://evil.test/v1", ""},
		{Anthropic, "https://api.anthropic.com.evil.test", ""},
		{"scripted", "", ""},
		{Anthropic, "://", ""},
	} {
		if got := DefaultKeyEnv(tt.provider, tt.base); got != tt.want {
			t.Errorf("DefaultKeyEnv(%q, %q) = %q, want %q", tt.provider, tt.base, got, tt.want)
		}
	}
}
