package egress

// Each test is the smallest scenario of one kind of fault that others have shipped.

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
)

// B33: a check of prefixes missed addresses in other writings.
func TestB33AnAddressIsRefusedInEveryWriting(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, w := range ways {
		for _, host := range []string{"2130706433", "0x7f.0.0.1", "0x7f000001", "0177.0.0.1", "017700000001", "127.1", "127.0.0.1", "127.0.0.1.", "[fe80::1]", "[::1]", "[::]", "[::ffff:127.0.0.1]",
			"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0", "0.0.0.0", "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1"} {
			c, err := New(Config{Resolver: &egresstest.Resolver{Answers: []string{"127.0.0.1"}}, Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.try(t, c, "http://"+host+":"+s.port+"/"); !errors.Is(err, ErrRefused) {
				t.Errorf("%s, %s: %v", w.name, host, err)
			}
		}
	}
	if n := s.hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// B34: the name was checked, and not where it leads. One address among the answers
// that must not be reached is enough, wherever it stands.
func TestB34ANameIsJudgedByAllThatItResolvesTo(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, w := range ways {
		for _, answers := range []string{"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fd00::1", "::ffff:127.0.0.1", "93.184.215.14 127.0.0.1", "127.0.0.1 93.184.215.14", "2606:2800:21f::1 93.184.215.14 192.168.1.1"} {
			c, err := New(Config{Resolver: &egresstest.Resolver{Answers: []string{answers}}, Timeout: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			url := "http://7f000001.nip.test:" + s.port + "/"
			if w.name == "DialContext" {
				url = "http://7f000001.nip.test:80/" // it reaches no other port
			}
			if err := w.try(t, c, url); !errors.Is(err, ErrRefused) {
				t.Errorf("%s, %s: %v", w.name, answers, err)
			}
		}
	}
	if n := s.hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}
