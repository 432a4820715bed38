package htmltext_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/htmltext"
	"pgregory.net/rapid"
)

func TestTextReadsAsThePage(t *testing.T) {
	for _, tt := range []struct{ name, html, want string }{
		{"paragraphs stand apart", "<p>One\n  two</p><p>three", "One two\n\nthree"},
		{"a div is a line", "<div>a</div><div>b</div>", "a\nb"},
		{"headings are marked", "<h1>A</h1><h3>B</h3>text", "# A\n\n### B\n\ntext"},
		{"the title comes first", "<head><title>T &amp; U</title><meta name=x></head><p>b", "T & U\n\nb"},
		{"a head without a title is nothing", "<head><meta name=x></head>b", "b"},
		{"links show where they lead", `see <a href="https://x.test/a">here</a>.`, "see here (https://x.test/a)."},
		{"an address is not said twice", `<a href="https://x.test/a">https://x.test/a</a>`, "https://x.test/a"},
		{"a link into the page or into script has no address", `<a href="#a">x</a> <a href="javascript:f()">y</a> <a>z</a>`, "x y z"},
		{"a link without text is nothing", `a<a href="/b"></a>`, "a"},
		{"a data address is only measured", `<a href="data:text/plain,abc">x</a>`, "x (address of 19 bytes)"},
		{"images show their alternative text", `<img alt="a  cat" src=x><img src=y>`, "[image: a cat]"},
		{"lists", `<ul><li>a<ol start=3><li>b<li>c</ol><li>d</ul>`, "- a\n  3. b\n  4. c\n- d"},
		{"an item without a list", `<li>a`, "- a"},
		{"tables", `<table><tr><th>a<th>b<tr><td>1<td>2</table>`, "a | b\n1 | 2"},
		{"pre keeps its space", "<pre>a  b\n\n  c\r\n</pre>d", "a  b\n\n  c\n\nd"},
		{"quotations", "<blockquote>a<p>b</blockquote>c", "> a\n> \n> b\n\nc"},
		{"br and hr", "a<br>b<br><br><br>c<hr>d", "a\nb\n\nc\n\n---\n\nd"},
		{"entities are decoded once", "&lt;b&gt; &amp;lt;", "<b> &lt;"},
		{"bytes that are not UTF-8 show", "a\xffb", "a\ufffdb"},
		{"nothing is nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := htmltext.Text([]byte(tt.html))
			if err != nil || strings.TrimSpace(got) != tt.want {
				t.Errorf("Text(%q) = %q, %v; want %q", tt.html, got, err, tt.want)
			}
		})
	}
}

// Each of these holds the word SECRET where a browser shows nothing.
var concealed = map[string]string{
	"comment":              `<!-- SECRET -->`,
	"script":               `<script>SECRET</script>`,
	"style":                `<style>SECRET</style>`,
	"template":             `<template><p>SECRET</template>`,
	"noscript":             `<noscript><p>SECRET</noscript>`,
	"meta":                 `<head><meta content="SECRET"></head>`,
	"iframe":               `<iframe>SECRET</iframe>`,
	"object":               `<object><p>SECRET</object>`,
	"svg":                  `<svg><text>SECRET</text></svg>`,
	"foreign object":       `<svg><foreignObject><p>SECRET</p></foreignObject></svg>`,
	"hidden":               `<p hidden>SECRET</p>`,
	"hidden in upper case": `<P HIDDEN="">SECRET</P>`,
	"aria-hidden":          `<p aria-hidden=" TRUE">SECRET</p>`,
	"closed dialog":        `<dialog>SECRET</dialog>`,
	"display":              `<p style="color:red;DISPLAY : None">SECRET</p>`,
	"important":            `<p style="display:none !important">SECRET</p>`,
	"css comment":          `<p style="display:/**/none">SECRET</p>`,
	"css escape":           `<p style="\64 isplay:none">SECRET</p>`,
	"css backslash":        `<p style="di\splay:none">SECRET</p>`,
	"visibility":           `<p style="visibility:hidden">SECRET</p>`,
	"collapse":             `<p style="visibility:collapse">SECRET</p>`,
	"content-visibility":   `<p style="content-visibility:hidden">SECRET</p>`,
	"opacity":              `<p style="opacity:0.0">SECRET</p>`,
	"opacity percent":      `<p style="opacity:1%">SECRET</p>`,
	"font-size":            `<p style="font-size:0px">SECRET</p>`,
	"font-size one":        `<p style="font-size:1px">SECRET</p>`,
	"height":               `<p style="height:0;overflow:hidden">SECRET</p>`,
	"one pixel":            `<p style="width:1px;height:1px;overflow:hidden">SECRET</p>`,
	"text-indent":          `<p style="text-indent:-9999px">SECRET</p>`,
	"position":             `<p style="position:absolute;left:-999em">SECRET</p>`,
	"position in vw":       `<p style="position:fixed;top:-200vh">SECRET</p>`,
	"position in percent":  `<p style="position:fixed;top:-200%">SECRET</p>`,
	"clip":                 `<p style="clip:rect(0 0 0 0)">SECRET</p>`,
	"clip-path":            `<p style="clip-path:inset(50%)">SECRET</p>`,
	"scale":                `<p style="transform:scale( 0 )">SECRET</p>`,
	"translate":            `<p style="transform:translate(10px, -9999px)">SECRET</p>`,
	"transparent":          `<p style="color:transparent">SECRET</p>`,
	"same colour":          `<p style="color:#fff;background-color:#FFF">SECRET</p>`,
	"child of hidden":      `<div hidden><p>x<b>SECRET</b></div>`,
	"unclosed":             `<div style="display:none">SECRET`,
}

func TestConcealedTextIsLeftOut(t *testing.T) {
	for name, page := range concealed {
		got, err := htmltext.Text([]byte("<p>before</p>" + page))
		if err != nil || !strings.Contains(got, "before") || strings.Contains(got, "SECRET") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// What a page hides is kept for a scanner, but for code and for what stands in the head.
func TestConcealedTextIsKeptApart(t *testing.T) {
	code := map[string]bool{"script": true, "style": true, "meta": true}
	for name, page := range concealed {
		got, err := htmltext.Read([]byte("<p>before</p>" + page))
		if err != nil || strings.Contains(got.Hidden, "before") || strings.Contains(got.Hidden, "SECRET") == code[name] {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	page := "<!-- top --><html><head><!-- head --><title>t</title></head><body>a<!-- one --><p hidden>two <b>three</b><script>code</script></p><template>four</template></body><!-- end --></html>"
	if got, err := htmltext.Read([]byte(page)); err != nil || got.Hidden != "one\ntwo\nthree\nfour\n" {
		t.Errorf("%q, %v", got.Hidden, err)
	}
	if got, err := htmltext.Read([]byte("<p>x" + strings.Repeat("<!-- é -->", 100_000))); err != nil || len(got.Hidden) < 60<<10 || len(got.Hidden) > 64<<10+3 || !utf8.ValidString(got.Hidden) {
		t.Errorf("%d bytes, %v", len(got.Hidden), err)
	}
}

func TestOrdinaryStylesHideNothing(t *testing.T) {
	for _, page := range []string{
		`<p style="color:red;font-size:12px;opacity:.9">SHOWN</p>`, `<p aria-hidden="false">SHOWN</p>`, `<p style="margin-left:-10px">SHOWN</p>`,
		`<dialog open>SHOWN</dialog>`, `<p style="transform:translate(-50%, 0)">SHOWN</p>`, `<p style="width:100%;overflow:hidden">SHOWN</p>`,
		`<p hidden>x<p>SHOWN`, `<p style="display">SHOWN</p>`, `<p style="font-size:large">SHOWN</p>`, `<svg><text>x</text></svg><p>SHOWN`,
	} {
		if got, err := htmltext.Text([]byte(page)); err != nil || !strings.Contains(got, "SHOWN") {
			t.Errorf("%s: %q, %v", page, got, err)
		}
	}
}

func TestTooMuchIsAnError(t *testing.T) {
	for name, page := range map[string]string{
		"size":  strings.Repeat("a", 10<<20+1),
		"depth": strings.Repeat("<div>", 100_000),
	} {
		if got, err := htmltext.Text([]byte(page)); err == nil || !strings.HasPrefix(err.Error(), "htmltext: ") {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestIsHTML(t *testing.T) {
	for _, tt := range []struct {
		kind, body string
		want       bool
	}{
		{"text/html; charset=utf-8", "x", true}, {"TEXT/HTML", "", true}, {"application/xhtml+xml", "", true},
		{"text/plain", "<html>", false}, {"application/json", "<p>", false},
		{"", "  <!DOCTYPE html><p>", true}, {"", "\ufeff<HTML>", true}, {"", "<p class=a>", true}, {"", "<!--x-->", true},
		{"", `<?xml version="1.0"?> <html xmlns="">`, true}, {"", `<?xml version="1.0"?><rss>`, false}, {"", `<?xml`, false},
		{"", "<abbr>", false}, {"", "plain", false}, {"", "", false}, {"", "<p", false}, {"", `{"a": "<p>"}`, false},
	} {
		if got := htmltext.IsHTML(tt.kind, []byte(tt.body)); got != tt.want {
			t.Errorf("IsHTML(%q, %q) = %v", tt.kind, tt.body, got)
		}
	}
}

// Whatever the tags around it, hidden text stays out and what follows it is text.
func TestHiddenTextNeverShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tag := rapid.SampledFrom([]string{"div", "p", "b", "ul", "li", "table", "td", "a href=x", "blockquote", "pre"})
		page := ""
		for _, open := range rapid.SliceOfN(tag, 0, 20).Draw(t, "open") {
			page += "<" + open + ">"
		}
		for name, c := range concealed {
			got, err := htmltext.Text([]byte(page + c))
			if err != nil || strings.Contains(got, "SECRET") {
				t.Fatalf("%s in %s: %q, %v", name, page, got, err)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	for _, page := range concealed {
		f.Add([]byte(page))
	}
	f.Add([]byte("<ul><li><a href=x><pre>\n<blockquote></ul></a>"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got, err := htmltext.Text(page)
		if err != nil {
			return
		}
		if !utf8.ValidString(got) || len(got) > 64*len(page)+64 {
			t.Fatalf("%d bytes became %d: %q", len(page), len(got), got)
		}
	})
}

// pages are of the kinds that people write; the last one has to be parsed into a tree.
var pages = map[string]string{
	"article":   `<div class="row"><h2>Report of the day</h2><p>Some <b>ordinary</b> text, with a <a href="https://example.com/page?q=1">link</a> and <i style="color:red">words</i>.</p><ul><li>one</li><li>two</li></ul></div>` + "\n",
	"prose":     `<p>The build took twelve minutes; the report is in the folder of the project, and the last commit repaired the test for package policy.` + "\n",
	"table":     `<table><thead><tr><th>Name<th>Total</tr></thead><tr class="odd"><td><a href="/items/1845">Ada</a></td><td style="text-align:right">12.50</td></tr></table>` + "\n",
	"menu":      `<nav aria-label="Main"><ul class="menu"><li class="item"><a class="link" href="/docs/start" data-id="17"><svg width="16" viewBox="0 0 16 16"><path d="M1 1h14v14H1z"/></svg><span>Start</span></a></li></ul></nav>`,
	"misnested": `<p><b>bold<p>still bold</b> <i>words</i>` + "\n",
}

func BenchmarkText(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		b.Run(name, func(b *testing.B) {
			page := []byte("<!doctype html><html><head><title>t</title></head><body>" + strings.Repeat(pages[name], 200<<10/len(pages[name])) + "</body></html>")
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := htmltext.Text(page); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
