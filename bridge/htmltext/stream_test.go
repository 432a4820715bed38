package htmltext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are of what pages are made. Some are plain, others are not.
var pieces = strings.Split(`<!doctype html>|<html>|<html hidden>|<head>|</head>|<title>T|</title>|<title>T</title>|<meta name=x>|<link>|<body>|<body style="display:none">|</body>|</html>|`+
	`<p>|</p>|<p hidden>|<div>|</div>|<div style="display:none">|<span>|</span>|<span aria-hidden=true>|<b>|</b>|<i>|</i>|<a href="/x">|</a>|<a>|`+
	`<ul>|</ul>|<ol start=4>|</ol>|<li>|</li>|<dl>|</dl>|<dt>|</dt>|<dd>|</dd>|<h1>|</h1>|<h3>|</h3>|<br>|<hr>|<br/>|<img alt="a  b">|<input>|`+
	`<table>|</table>|<thead>|</thead>|<tbody>|</tbody>|<tfoot>|<tr>|</tr>|<td>|</td>|<th>|</th>|<caption>|</caption>|<colgroup>|</colgroup>|<col>|<td hidden>|<tr hidden>|`+
	`<pre>|</pre>|<textarea>|</textarea>|<textarea>`+"\n"+`x</textarea>|<blockquote>|</blockquote>|<form>|</form>|<button>|</button>|<select>|</select>|<option>|</option>|<optgroup>|</optgroup>|`+
	`<script>x</script>|<style>x</style>|<noscript><p>x</noscript>|<iframe>x</iframe>|<template>|</template>|<svg>|</svg>|<svg><title>a</title><path d=x /></svg>|<svg/>|<g>|</g>|<![CDATA[ > <p>x ]]>|`+
	`<dialog>|<dialog open>|</dialog>|<search>|</search>|<my-tag>|</my-tag>|<nobr>|<ruby>|<rt>|<center>|</center>|<address>|</address>|<section>|</section>|<math>|<object>|<video>|</video>|<label>|</label>|<base>|<frameset>|<image>|<keygen>|`+
	`<!-- c -->|text|more  text| |`+"\n|\n\n|\r\n|&amp;|&#13;|\x00|\xff|é|<|>", "|")

// checkStream compares the two ways through a page and reports that both were taken.
func checkStream(t interface {
	Helper()
	Fatalf(string, ...any)
}, page string) bool {
	t.Helper()
	fast, plain := stream([]byte(page))
	if !plain {
		return false
	}
	slow, err := tree([]byte(page))
	if err != nil {
		t.Fatalf("%q: the parser stopped: %v", page, err)
	}
	if got, want := fast.out.String(), slow.out.String(); got != want {
		t.Fatalf("%q\nstream %q\ntree   %q", page, got, want)
	}
	if got, want := fast.hidden.String(), slow.hidden.String(); got != want {
		t.Fatalf("%q hides\nstream %q\ntree   %q", page, got, want)
	}
	return true
}

func TestStreamEqualsTree(t *testing.T) {
	tag := rapid.SampledFrom(pieces)
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(tag, 0, 12).Draw(t, "pieces")
		for n := range list { // every beginning of it
			if checkStream(t, strings.Join(list[:n+1], "")) {
				plain++
			}
		}
	})
	if plain < 50 {
		t.Errorf("only %d pages were plain", plain)
	}
}

// Each rule that the streamer follows, and each for which it gives up, with a page on which the other answer would show or hide the
// wrong text.
func TestStreamKnowsWhatIsPlain(t *testing.T) {
	for _, tt := range []struct {
		page  string
		plain bool
	}{
		{"<p hidden>x<p>SHOWN<div>y</div>", true},
		{"<p hidden>x<span><div>SHOWN</div>", false},
		{"<p><button hidden><div>x</div></button>SHOWN</p>", true},
		{"<svg><![CDATA[ a > b ]]><title>t</title><g><path/></g></svg>SHOWN", true},
		{"<svg hidden><p>SHOWN</p></svg>", false},
		{"<svg><g></svg></g>SHOWN", false},
		{"<table hidden><tr>SHOWN<td>x</table>", false},
		{"<table hidden><tr><div>SHOWN</div><td>x</table>", false},
		{"<!doctype html><p hidden>x<table><tr><td>SHOWN</table>", false},
		{"<table><tr><td hidden>x<td>y<tr><th>z</table>w", true},
		{"<table><td hidden>x</table>y", true},
		{"<table><caption>t</caption><colgroup><col></colgroup><tbody><tr><td>x</tbody><tfoot><tr><td>y</table>", true},
		{"<table><tr><td hidden><table><tr><td>x</table><td>SHOWN</table>", true},
		{"<table><tr><td hidden>x</tbody>y<td>z</table>", false},
		{"<table><tr><td hidden><table></td><td>SHOWN", false},
		{"<table><tr><td>x</body><!-- c -->", false},
		{"<pre>a<!doctype x>\nb</pre>", false},
		{"a<pre><!-- c -->\nx</pre>", true},
		{"a<pre>\nx</pre><textarea>\n\ny</textarea>", true},
		{"<a href=/x>t<pre>y</body>\n\n\n\n\n", false},
		{"<ul><li hidden>x<li>SHOWN</ul>", true},
		{"<ul><li hidden><p>x<li>SHOWN</ul>", true},
		{"<ul><li hidden>x<span><li>SHOWN</ul>", false},
		{"<ul><li hidden>x<div><li>SHOWN</ul>", false},
		{"<ul><li hidden>x<ul><li>y</ul><li>SHOWN</ul>", true},
		{"<dl><dt hidden>x<dd>SHOWN</dl>", true},
		{"<h1 hidden>x<h2>SHOWN</h2>", true},
		{"<a hidden>x<a>SHOWN</a>", false},
		{"<b hidden><p>x</b>SHOWN</p>", false},
		{"<div><b hidden>x</div>y", false},
		{"<form hidden>x<form>y</form>SHOWN</form>", false},
		{"<form hidden>x<form>y</form>SHOWN", false},
		{"<head></head><html hidden><body>SHOWN", false},
		{"<form hidden>x</form>SHOWN<form>y</form>", true},
		{"<button hidden>x<button>SHOWN</button>", false},
		{"<select><option hidden>x<option>SHOWN</select>", true},
		{"<select><optgroup hidden><option>x<optgroup><option>SHOWN</select>", true},
		{"<select hidden>x<input>SHOWN", false},
		{"<select hidden>x<select>SHOWN", false},
		{"<option hidden>x<option>SHOWN", false},
		{"<my-a hidden>x</my-b>y</my-a>SHOWN", false},
		{"<my-a hidden>x</my-a>SHOWN", true},
		{"<html hidden><head><title>T</title></head><body>x", true},
		{"<head hidden><title>T</title></head>SHOWN", true},
		{"<head></head><title>T</title>SHOWN", false},
		{"<title></title><title>T</title><title>U</title>SHOWN", true},
		{"x<html hidden>SHOWN", false},
		{"<body>x<body hidden>SHOWN", false},
		{"<template>x</template>SHOWN", false},
		{"<noscript><p>x</noscript><script>y</script>SHOWN", true},
		{"<script>x", false},
		{"SHOWN\x00", false},
		{strings.Repeat("<div>", maxStream-1) + "SHOWN", true},
		{strings.Repeat("<div>", maxStream+1) + "SHOWN", false},
	} {
		if plain := checkStream(t, tt.page); plain != tt.plain {
			t.Errorf("%.80q: plain is %v", tt.page, plain)
		}
	}
}

// page draws a page that is mostly well formed: elements inside elements, with an end tag left out here and there.
func page(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"text", " ", "\n", "two  words\n", "&lt;x", "<br>", "<!-- c -->", "<img alt=x>", "<hr>", "<script>x</script>", "<input>", "\n\n"}).Draw(t, "leaf")
	}
	name := rapid.SampledFrom([]string{
		"p", "div", "span", "b", "i", "a href=/x", "ul", "ol", "li", "dl", "dt", "dd", "h2", "table", "tbody", "tr", "td", "th", "caption", "thead", "colgroup", "pre", "blockquote", "form", "button", "select", "option",
		"optgroup", "div hidden", "p style='display:none'", "section", "dialog", "my-tag", "svg", "g", "label", "center", "textarea", "search", "em", "address",
	}).Draw(t, "name")
	var b strings.Builder
	b.WriteString("<" + name + ">")
	for range rapid.IntRange(0, 3).Draw(t, "children") {
		b.WriteString(page(t, rapid.IntRange(0, depth-1).Draw(t, "depth")))
	}
	if rapid.IntRange(0, 4).Draw(t, "end") > 0 {
		tag, _, _ := strings.Cut(name, " ")
		b.WriteString("</" + tag + ">")
	}
	return b.String()
}

func TestStreamEqualsTreeOnPages(t *testing.T) {
	plain, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		all++
		if checkStream(t, page(t, 5)) {
			plain++
		}
	})
	t.Logf("%d of %d pages were plain", plain, all)
	if plain < all/5 {
		t.Errorf("only %d of %d pages were plain", plain, all)
	}
}

func FuzzStreamEqualsTree(f *testing.F) {
	for _, p := range pieces {
		f.Add(p)
	}
	f.Add(strings.Join(pieces, ""))
	f.Add("<!doctype html><html><head><title>t</title></head><body><ul><li><p>a<li>b</ul><table><tr><td>x<td>y<tr><th><p>z</table><pre>\na</pre></body></html>")
	f.Fuzz(func(t *testing.T, page string) { checkStream(t, page) })
}
