package bridge_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/policy"
)

// in runs f as a tool, with the argument to, and returns its outcome.
func in(t *testing.T, cfg bridge.Config, to string, f func(context.Context, *bridge.Permit) error, mods ...func(*bridge.Run)) (bridge.Outcome, error) {
	t.Helper()
	var p probe
	cfg.Tools = []bridge.Tool{p.tool("x", caps(policy.UntrustedInput), func(t *bridge.Tool) {
		t.Paths = []string{"to"}
		if mods == nil {
			t.Paths = nil
		}
		t.Run = func(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
			return bridge.Output{Local: true}, f(ctx, p)
		}
	})}
	r := newRig(t, cfg, mods...)
	_, err := r.call(t, "x", map[string]any{"to": to})
	return event[bridge.Outcome](t, r.Journal), err
}

// A tool cannot claim that what came over the network was its own.
func TestATouchOfTheNetworkMakesAResultThirdParty(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hi")) }))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	for _, tt := range []struct {
		allow    []string
		external bool
	}{{nil, false}, {[]string{host}, true}} {
		client, err := egress.New(egress.Config{Allow: tt.allow})
		if err != nil {
			t.Fatal(err)
		}
		o, err := in(t, bridge.Config{HTTP: client}, "", func(ctx context.Context, p *bridge.Permit) error {
			u, err := egress.ParseURL(srv.URL)
			if err != nil {
				return err
			}
			_, err = p.HTTP().Do(ctx, egress.Request{Method: "GET", URL: u})
			return err
		})
		if o.External != tt.external || o.Taint.Untrusted() != tt.external || errors.Is(err, egress.ErrRefused) == tt.external {
			t.Errorf("allowed %v: %+v, %v", tt.allow, o, err)
		}
	}
}

func TestNamesOfFilesAreContentToo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/a.txt", "d/b.log", "d/vendor/c.txt"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := space(t, dir, workspace.Config{Untrusted: []string{"d/vendor/**"}})
	var names []string
	o, err := in(t, bridge.Config{}, "d", func(_ context.Context, p *bridge.Permit) error {
		if _, _, err := p.Root().List("other", 10); err == nil {
			return errors.New("it listed what was not judged")
		}
		entries, more, err := p.Root().List("d", 10)
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if more {
			return errors.New("there is more")
		}
		return err
	}, files)
	if err != nil || len(names) != 3 || !o.Taint.Unvouched() {
		t.Errorf("listed %v, %+v, %v", names, o.Taint, err)
	}
	for _, tt := range []struct {
		start, ext string
		want       []string
		untrusted  bool
	}{{"d", ".log", []string{"d/b.log b.log"}, false}, {"d", ".txt", []string{"d/a.txt a.txt", "d/vendor/c.txt vendor/c.txt"}, true}, {".", ".log", []string{"d/b.log d/b.log"}, false}, {"d/a.txt", ".txt", []string{"d/a.txt a.txt"}, false}} {
		var got []string
		o, err := in(t, bridge.Config{}, tt.start, func(_ context.Context, p *bridge.Permit) error {
			var below string
			if err := p.Root().Walk("other", nil, nil); err == nil {
				return errors.New("it walked what was not judged")
			}
			return p.Root().Walk(tt.start, func(b string) bool { below = b; return strings.HasSuffix(b, tt.ext) },
				func(rel string, _ fs.FileInfo, read bridge.ReadFunc) error {
					data, _, err := read(100)
					if string(data) != rel {
						return errors.New("it read " + string(data))
					}
					got = append(got, rel+" "+below)
					return err
				})
		}, files)
		if err != nil || !slices.Equal(got, tt.want) || o.Taint.Untrusted() != tt.untrusted {
			t.Errorf("%s %s: walked %v, %v, %v", tt.start, tt.ext, got, o.Taint, err)
		}
	}
	for _, path := range []string{"d", "d/a.txt"} { // a directory cannot be read, and nothing here can be written
		_, err := in(t, bridge.Config{}, path, func(_ context.Context, p *bridge.Permit) error {
			if path == "d" {
				_, _, err := p.Root().ReadFile(path, 10)
				return err
			}
			return p.Root().Write(path, []byte("x"))
		}, files)
		if err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
