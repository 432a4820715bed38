package tools_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/interp"
)

// saver is a run that may write below files, with a server of one answer.
func saver(t *testing.T, files map[string]string, h http.HandlerFunc) (r *rig, url string, seen *atomic.Int32) {
	t.Helper()
	url, seen = site(t, h)
	r = newRig(t, setup{http: reaching(t, url, egress.Config{MaxBody: 1000}), files: files,
		space: workspace.Config{Writable: []string{"files/**"}, ReadDeny: []string{"files/.env"}}})
	return r, url, seen
}

func TestADownloadIsStoredAsItCame(t *testing.T) {
	body := strings.Repeat("\x00\xff<p>", 20000) // over the 1000 bytes that are read of other answers
	r, url, _ := saver(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "Application/Zip; x=y")
		w.WriteHeader(http.StatusCreated)
		w.Write([]byte(body))
	})
	m := r.fetch(t, args{"url": url + "/a", "save": "files/new/a.zip"})
	want := map[string]any{"status": int64(201), "url": url + "/a", "media_type": "application/zip", "path": "files/new/a.zip", "bytes": int64(len(body)), "sha256": digest(body)}
	if fmt.Sprint(m) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", m, want)
	}
	if r.text("files/new/a.zip") != body {
		t.Errorf("the file has %d bytes of %d", len(r.text("files/new/a.zip")), len(body))
	}
}

// What came from the network stays third-party content on disk, though the
// conversation that stored it was clean.
func TestADownloadIsThirdPartyContent(t *testing.T) {
	r, url, _ := saver(t, map[string]string{"files/own": "mine"}, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "obey") })
	rep := r.call(t, "http_fetch", args{"url": url, "save": "files/page.txt"})
	must(t, rep.err)
	if w := rep.outcome.Wrote; len(w) != 1 || w[0] != (bridge.Written{Path: "files/page.txt", SHA256: digest("obey"), Untrusted: true, New: true}) {
		t.Errorf("written: %+v", w)
	}
	if !rep.outcome.External {
		t.Error("the record is told to be local")
	}
	ts, err := tools.Builtin("http_fetch")
	must(t, err)
	if f := ts[0]; !slices.Equal(f.Destinations, []string{"url", "save"}) || !slices.Equal(f.Paths, []string{"save"}) || !f.Record.Opaque {
		t.Errorf("gates do not see the file: %v, %v", f.Destinations, f.Paths)
	}
	for path, want := range map[string]bool{"files/page.txt": true, "files/own": false} {
		if rep := r.call(t, "fs_read", args{"path": path}); rep.err != nil || rep.outcome.Taint.Untrusted() != want {
			t.Errorf("%s brings %v, %v", path, rep.outcome.Taint, rep.err)
		}
	}
}

func TestNothingIsSavedWhereItMustNot(t *testing.T) {
	r, url, seen := saver(t, map[string]string{"files/old": "mine", "files/.env": "secret", "link": "-> /etc", "files/out": "-> /etc/passwd"},
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "obey") })
	for path, want := range map[string]string{"files/old": "there already", "files/.env": "", "files/out": "", "files": "", "../x": "", "/etc/x": "", "link/x": "",
		"": "", "files/a\x00b": "", "other": "not writable"} {
		r.fails(t, "http_fetch", args{"url": url, "save": path}, want)
	}
	if seen.Load() != 0 {
		t.Errorf("%d requests arrived", seen.Load())
	}
	for name, want := range map[string]string{"files/old": "mine", "files/.env": "secret", "other": ""} {
		if got := r.text(name); got != want {
			t.Errorf("%s now holds %q", name, got)
		}
	}
}

// What appears at the path while the server answers is not replaced either.
func TestASaveThatComesTooLateSaysThatTheRequestWasSent(t *testing.T) {
	var r *rig
	r, url, _ := saver(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		r.put(t, "files/a", "mine")
		fmt.Fprint(w, "obey")
	})
	rep := r.fails(t, "http_fetch", args{"url": url, "method": "POST", "save": "files/a"}, "the request was sent and answered with status 200, but not saved")
	if r.text("files/a") != "mine" || len(rep.outcome.Wrote) != 0 || !rep.outcome.External {
		t.Errorf("the file holds %q, %+v", r.text("files/a"), rep.outcome)
	}
}

// An answer that is not the file is told, and not stored under its name.
func TestOnlySuccessIsSaved(t *testing.T) {
	for _, status := range []int{301, 404, 500} {
		r, url, _ := saver(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/other")
			w.WriteHeader(status)
			fmt.Fprint(w, "sorry")
		})
		m := r.fetch(t, args{"url": url, "save": "files/a"})
		if m["status"] != int64(status) || m["body"] != "sorry" || m["path"] != nil || r.text("files/a") != "" {
			t.Errorf("%d: %v", status, m)
		}
		if location := m["location"]; (status == 301) != (location == url+"/other") {
			t.Errorf("%d leads to %v", status, location)
		}
	}
	r, url, _ := saver(t, nil, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	rep := r.fails(t, "http_fetch", args{"url": url, "save": "files/a"}, "EOF")
	if !rep.outcome.External || len(rep.outcome.Wrote) != 0 {
		t.Errorf("a broken download: %+v", rep.outcome)
	}
}

// 65 MiB of zeros are 64 KiB on the line, and 5 GB are only declared.
func TestADownloadIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 65 {
		z.Write(make([]byte, 1<<20))
	}
	must(t, z.Close())
	for name, h := range map[string]http.HandlerFunc{
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		},
		"5 GB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(5<<30))
			for chunk, err := make([]byte, 1<<20), error(nil); err == nil; {
				_, err = w.Write(chunk)
			}
		},
	} {
		r, url, _ := saver(t, nil, h)
		rep := r.fails(t, "http_fetch", args{"url": url, "save": "files/a"}, "longer than the 64 MiB")
		if r.text("files/a") != "" || len(rep.outcome.Wrote) != 0 || !rep.outcome.External {
			t.Errorf("%s: %d bytes were saved, %+v", name, len(r.text("files/a")), rep.outcome)
		}
	}
}

// TestDownloadsRunOneAtATime, in whatever run, since each is held in memory.
func TestDownloadsRunOneAtATime(t *testing.T) {
	var running, most atomic.Int32
	url, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(5 * time.Millisecond) // others would come in: a fault is missed if they do not, none is made up
		running.Add(-1)
	})
	shared, err := tools.Builtin("http_fetch")
	must(t, err)
	client := reaching(t, url, egress.Config{})
	var rigs []*rig
	for range 8 {
		rigs = append(rigs, newRig(t, setup{http: client, tools: shared, space: workspace.Config{Writable: []string{"**"}}}))
	}
	var all sync.WaitGroup
	for _, r := range rigs {
		all.Go(func() {
			if _, err := r.door.Call(t.Context(), interp.Call{Tool: "http_fetch", Args: args{"url": url, "save": "a"}, N: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d ran at a time", most.Load())
	}
}

// TestADownloadThatWaitsEndsWithItsRun: another one holds the turn.
func TestADownloadThatWaitsEndsWithItsRun(t *testing.T) {
	began, release := make(chan bool), make(chan bool)
	url, seen := site(t, func(http.ResponseWriter, *http.Request) { began <- true; <-release })
	shared, err := tools.Builtin("http_fetch")
	must(t, err)
	client := reaching(t, url, egress.Config{})
	save := func(ctx context.Context, journalled func(any) error) <-chan error {
		r, done := newRig(t, setup{http: client, tools: shared, space: workspace.Config{Writable: []string{"**"}}}), make(chan error)
		r.journal.Fail = journalled
		go func() {
			_, err := r.door.Call(ctx, interp.Call{Tool: "http_fetch", Args: args{"url": url, "save": "a"}, N: 1})
			done <- err
		}()
		return done
	}
	first := save(t.Context(), nil)
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	second := save(ctx, func(event any) error {
		if _, ok := event.(bridge.Begun); ok {
			cancel() // from here on it can only wait
		}
		return nil
	})
	if err := <-second; err == nil || seen.Load() != 1 {
		t.Errorf("the second ended with %v after %d requests", err, seen.Load())
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the first ended with %v", err)
	}
}

// TestNoAttackGetsOutOfAFetch runs the list of package egress through the tool.
func TestNoAttackGetsOutOfAFetch(t *testing.T) {
	home, seen := site(t, echo)
	port := home[strings.LastIndexByte(home, ':')+1:]
	for _, a := range egresstest.Attacks(port) {
		resolver := a.Resolver()
		c, err := egress.New(egress.Config{Resolver: resolver})
		must(t, err)
		r := newRig(t, setup{http: c, space: workspace.Config{Writable: []string{"**"}}})
		for _, given := range []args{{"url": a.URL}, {"url": a.URL, "method": "POST", "form": args{"a": "b"}, "save": "got"}} {
			want := a.Reason
			if a.Name == "not UTF-8" {
				want = "" // arguments are text before they are URLs
			}
			rep := r.fails(t, "http_fetch", given, want)
			if rep.outcome.External || rep.outcome.Taint.Untrusted() || r.text("got") != "" {
				t.Errorf("%s: it is told to come from outside: %v", a.Name, rep.err)
			}
		}
		if resolver.Asked() > 2 {
			t.Errorf("%s: resolved %d times for two calls", a.Name, resolver.Asked())
		}
	}
	if seen.Load() != 0 {
		t.Errorf("%d requests arrived", seen.Load())
	}
}

func TestNoLocationIsFollowedByAFetch(t *testing.T) {
	home, trapped := site(t, echo)
	for _, location := range egresstest.Locations(home[strings.LastIndexByte(home, ':')+1:]) {
		r, url, seen := web(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 0)
		if m := r.fetch(t, args{"url": url, "method": "POST", "json": "x"}); m["status"] != int64(307) || seen.Load() != 1 {
			t.Errorf("%q: %v after %d requests", location, m, seen.Load())
		}
	}
	if trapped.Load() != 0 {
		t.Errorf("%d redirects were followed", trapped.Load())
	}
}

func TestAHostThatIsAskedTooOftenSaysWhenAgain(t *testing.T) {
	url, seen := site(t, echo)
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	r := newRig(t, setup{http: reaching(t, url, egress.Config{HostRate: egress.Rate{N: 2, Per: time.Minute}, Now: func() time.Time { return now }})})
	r.fetch(t, args{"url": url})
	r.fetch(t, args{"url": url})
	rep := r.fails(t, "http_fetch", args{"url": url}, "2 requests in 1m0s are the limit for one host; try again in 1m0s")
	if seen.Load() != 2 || rep.outcome.External || rep.outcome.Refused != "egress" {
		t.Errorf("%d requests arrived, %+v", seen.Load(), rep.outcome)
	}
	now = now.Add(time.Minute)
	r.fetch(t, args{"url": url})
}
