package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/policy"
)

// searching is a run that asks a SearXNG server below path, played by h.
func searching(t *testing.T, path string, h http.HandlerFunc) *rig {
	t.Helper()
	url, _ := site(t, h)
	s, err := tools.NewSearXNG(url + path)
	must(t, err)
	ts, err := tools.BuiltinWith(tools.Options{Search: s}, "web_search", "http_fetch")
	must(t, err)
	return newRig(t, setup{http: reaching(t, url, egress.Config{}), tools: ts})
}

// answer is a server that always says this.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, body) }
}

// answered is an answer as SearXNG gives it, with the fields that it has beside ours.
const answered = `{"query":"go","number_of_results":2,"answers":[],"corrections":[],"infoboxes":[],"suggestions":["go lang"],"unresponsive_engines":[["qwant","timeout"]],
	"results":[
	{"url":"https://go.dev/","title":"The Go\n Programming Language","content":"An open   source language","engine":"duckduckgo","engines":["duckduckgo"],"score":1.5,"parsed_url":["https","go.dev","/","","",""],"publishedDate":null},
	{"url":"https://example.com/a?b=c#d","title":"B","content":null,"engine":"bing"}]}`

func TestASearchAsksTheServerAndReturnsRecords(t *testing.T) {
	for _, path := range []string{"", "/", "/searx", "/searx/", "/searx/search"} {
		var got *http.Request
		r := searching(t, path, func(w http.ResponseWriter, req *http.Request) { got = req; answer(200, answered)(w, req) })
		v := r.value(t, "web_search", args{"query": "go & #ü!"})
		want := []any{
			map[string]any{"title": "The Go Programming Language", "url": "https://go.dev/", "snippet": "An open source language"},
			map[string]any{"title": "B", "url": "https://example.com/a?b=c#d", "snippet": ""},
		}
		if fmt.Sprint(v) != fmt.Sprint(want) {
			t.Errorf("%q: %v", path, v)
		}
		base := strings.TrimSuffix(strings.TrimRight(path, "/"), "/search")
		if got.Method != "GET" || got.RequestURI != base+"/search?format=json&q=go+%26+%23%C3%BC%21" || got.Header.Get("Accept") != "application/json" {
			t.Errorf("%q: asked %s %s %v", path, got.Method, got.RequestURI, got.Header)
		}
	}
}

func TestWhatASearchFindsIsThirdPartyContentThatNamesNothing(t *testing.T) {
	r := searching(t, "", answer(200, answered))
	rep := r.call(t, "web_search", args{"query": "go"})
	must(t, rep.err)
	if !rep.outcome.External || !rep.outcome.Taint.Untrusted() {
		t.Errorf("external %v, %v", rep.outcome.External, rep.outcome.Taint)
	}
	ts, err := tools.Builtin("web_search")
	must(t, err)
	if s := ts[0]; !s.Record.Opaque || !s.Caps.Has(policy.ExternalSend) || !s.Caps.Has(policy.UntrustedInput) || s.Tier != policy.AskOnce || len(s.Destinations) != 0 {
		t.Errorf("%+v", s)
	}
}

// A query can carry out what a page wants: after one was read, only the user's
// own words are searched for unasked.
func TestASearchAfterAnUntrustedReadAsks(t *testing.T) {
	for query, asked := range map[string]bool{"weather Berlin": false, "s3cret diary": true} {
		ts, err := tools.BuiltinWith(tools.Options{Search: &engine{}}, "web_search")
		must(t, err)
		ts = append(ts, page())
		r := newRig(t, setup{tools: ts}) // which makes them free
		r.adapter, err = bridge.New(bridge.Config{Tools: ts, Approver: r, Now: func() time.Time { return r.now }, Security: policy.Security{Named: policy.NamedAsk}})
		must(t, err)
		r.journal.State.Authority.Say("Tell me the weather Berlin has")
		r.run.Attended = true
		r.open(t)
		r.value(t, "page", nil)
		r.value(t, "web_search", args{"query": query})
		if got := len(r.asked) > 0; got != asked {
			t.Errorf("%q: asked %v: %+v", query, got, r.asked)
		}
	}
}

func TestResultsAreBounded(t *testing.T) {
	long := strings.Repeat("日本 ", 100)
	var many []map[string]any
	for i := range 100 {
		many = append(many, map[string]any{"url": fmt.Sprintf("https://example.com/%d", i), "title": long, "content": long})
	}
	body, err := json.Marshal(map[string]any{"results": many})
	must(t, err)
	r := searching(t, "", answer(200, string(body)))
	list := r.value(t, "web_search", args{"query": "x"}).([]any)
	if len(list) != 20 {
		t.Fatalf("%d results", len(list))
	}
	for _, e := range list {
		m := e.(map[string]any)
		for field, most := range map[string]int{"title": 200, "snippet": 600} {
			text := m[field].(string)
			if len(text) > most || len(text) < most-8 || !strings.HasSuffix(text, "…") || !utf8.ValidString(text) {
				t.Errorf("%s has %d bytes: %q", field, len(text), text)
			}
		}
	}
}

// What http_fetch would refuse to read is not worth telling, and may be a trick.
func TestResultsThatLeadElsewhereAreLeftOut(t *testing.T) {
	var results []string
	for _, u := range []string{"javascript:alert(1)", "file:///etc/passwd", "http://user:pw@evil.test/", "http://2130706433/", "", "/relative", "https://evil.test/\u202e",
		"https://example.com/" + strings.Repeat("a", 2000), "https://ok.test/"} {
		results = append(results, fmt.Sprintf(`{"url":%q,"title":"t","content":"c"}`, u))
	}
	r := searching(t, "", answer(200, `{"results":[`+strings.Join(results, ",")+`]}`))
	if v := r.value(t, "web_search", args{"query": "x"}); fmt.Sprint(v) != "[map[snippet:c title:t url:https://ok.test/]]" {
		t.Errorf("%v", v)
	}
}

func TestASearchThatFailsSaysWhatTheOperatorCanDo(t *testing.T) {
	huge := `{"results":[],"x":"` + strings.Repeat("a", 3<<20) + `"}`
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"JSON is off", answer(403, "<h1>Forbidden</h1>"), "add json to search.formats"},
		{"a limiter", answer(429, "Too Many Requests"), "pass_ip in its limiter.toml"},
		{"a redirect", func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "https://other.test/search", http.StatusMovedPermanently)
		}, "https://other.test/search"},
		{"no server of that kind", answer(404, "?"), "status 404: ask the operator whether tools.webSearch.baseUrl"},
		{"broken", answer(500, ""), "status 500"},
		{"HTML", answer(200, "<!doctype html><p>results</p>"), "no JSON of SearXNG"},
		{"another JSON", answer(200, `["a"]`), "no JSON of SearXNG"},
		{"other types", answer(200, `{"results":[{"url":1}]}`), "no JSON of SearXNG"},
		{"half an answer", answer(200, answered[:100]), "no JSON of SearXNG"},
		{"nesting", answer(200, `{"results":`+strings.Repeat("[", 100000)), "no JSON of SearXNG"},
		{"too much", answer(200, huge), "longer than 2 MiB"},
		{"no engine answered", answer(200, `{"results":[],"unresponsive_engines":[["google","CAPTCHA"]]}`), "[[google CAPTCHA]]"},
		{"a connection that breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		rep := searching(t, "", tt.h).fails(t, "web_search", args{"query": "s3cret"}, tt.want)
		if !rep.outcome.External || !rep.outcome.Taint.Untrusted() {
			t.Errorf("%s: external %v, %v", tt.name, rep.outcome.External, rep.outcome.Taint)
		}
	}
	if v := searching(t, "", answer(200, `{"results":[]}`)).value(t, "web_search", args{"query": "x"}); fmt.Sprint(v) != "[]" {
		t.Errorf("nothing found: %v", v)
	}
}

func TestQueriesThatAreNotSent(t *testing.T) {
	r := searching(t, "", answer(200, answered))
	for _, a := range []args{{}, {"query": ""}, {"query": int64(1)}, {"query": strings.Repeat("a", 401)}, {"query": "a", "engine": "b"}} {
		r.fails(t, "web_search", a, "")
	}
	if rep := newRig(t, setup{}).fails(t, "web_search", args{"query": "x"}, "set tools.webSearch.baseUrl"); rep.outcome.External {
		t.Error("without a server it comes from outside")
	}
}

// TestNoAttackGetsOutOfASearch: the address is the operator's, but it may come
// with a task that he did not read.
func TestNoAttackGetsOutOfASearch(t *testing.T) {
	home, seen := site(t, echo)
	searches := 0
	for _, a := range egresstest.Attacks(home[strings.LastIndexByte(home, ':')+1:]) {
		s, err := tools.NewSearXNG(a.URL)
		if err != nil {
			continue // refused before there is a tool
		}
		searches++
		c, err := egress.New(egress.Config{Resolver: a.Resolver()})
		must(t, err)
		ts, err := tools.BuiltinWith(tools.Options{Search: s}, "web_search")
		must(t, err)
		rep := newRig(t, setup{http: c, tools: ts}).fails(t, "web_search", args{"query": "x"}, a.Reason)
		if rep.outcome.External || rep.outcome.Refused != "egress" {
			t.Errorf("%s: %+v", a.Name, rep.outcome)
		}
	}
	if searches < 40 || seen.Load() != 0 {
		t.Errorf("%d addresses were tried, %d requests arrived", searches, seen.Load())
	}
}

func TestNoLocationIsFollowedByASearch(t *testing.T) {
	home, trapped := site(t, echo)
	for _, location := range egresstest.Locations(home[strings.LastIndexByte(home, ':')+1:]) {
		searching(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}).fails(t, "web_search", args{"query": "x"}, "302")
	}
	if trapped.Load() != 0 {
		t.Errorf("%d redirects were followed", trapped.Load())
	}
}

func TestTheAddressOfASearchServer(t *testing.T) {
	for _, bad := range []string{"", "search.test", "ftp://search.test", "https://user@search.test/", "https://search.test/?q=", "https://search.test/#a", "https://search.test?", "https://0x7f.1/"} {
		if s, err := tools.NewSearXNG(bad); s != nil || err == nil || !strings.HasPrefix(err.Error(), "tools: the address of the search server") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	s, err := tools.NewSearXNG("https://search.test/" + strings.Repeat("a", 8000)) // as long as a URL may be, without the query
	must(t, err)
	ts, err := tools.BuiltinWith(tools.Options{Search: s}, "web_search")
	must(t, err)
	newRig(t, setup{tools: ts}).fails(t, "web_search", args{"query": strings.Repeat("a", 400)}, "8 KiB")
	if ts, err := tools.BuiltinWith(tools.Options{}, "fs_read", "web_search"); ts != nil || err == nil || !strings.Contains(err.Error(), "set tools.webSearch.baseUrl") {
		t.Errorf("without a server: %v, %v", ts, err)
	}
	if ts, err := tools.BuiltinWith(tools.Options{}, "fs_read"); len(ts) != 1 || err != nil {
		t.Errorf("without a search: %v, %v", ts, err)
	}
}

// An engine is a search engine in memory.
type engine struct {
	queries []string
	err     error
}

func (e *engine) Search(_ context.Context, _ *bridge.HTTP, query string) ([]tools.Found, error) {
	e.queries = append(e.queries, query)
	return []tools.Found{{Title: "T", URL: "https://a.test/", Snippet: "S"}}, e.err
}

func TestAnotherEngineCanBeAsked(t *testing.T) {
	e := &engine{}
	ts, err := tools.BuiltinWith(tools.Options{Search: e}, "web_search")
	must(t, err)
	r := newRig(t, setup{tools: ts})
	rep := r.call(t, "web_search", args{"query": "x"})
	if fmt.Sprint(rep.value) != "[map[snippet:S title:T url:https://a.test/]]" || fmt.Sprint(e.queries) != "[x]" || !rep.outcome.Taint.Untrusted() {
		t.Errorf("%+v, asked %v", rep, e.queries)
	}
	e.err = errors.New("closed today")
	r.fails(t, "web_search", args{"query": "y"}, "closed today")
}
