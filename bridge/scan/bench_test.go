package scan_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
)

var prose = strings.Repeat("The build took 12 minutes; the report is in docs/report.md, and commit f33e55c fixed the test for package policy. ", 36)[:4096]

// some repeats text up to 64 KiB.
func some(text string) string { return strings.Repeat(text, 64<<10/len(text)+1)[:64<<10] }

// kinds are texts of the kinds that tools return.
func kinds(t testing.TB) map[string]string {
	t.Helper()
	source, err := os.ReadFile("redact/redact.go")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := json.MarshalIndent([]map[string]any{
		{"id": 1845, "name": "Ada Byron", "tags": []string{"a", "b"}, "updated_at": "2026-03-01T10:00:00Z", "total": 12.5, "path": "src/main/report.go"},
		{"id": 1846, "name": "Carl Gauss", "tags": nil, "updated_at": "2026-03-02T11:30:00Z", "total": 0.25, "url": "https://example.com/items/1846?view=full"},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var docs strings.Builder
	for _, r := range corpus(t, "scanner_neg.json") {
		if r.Kind == "doc/changelog" {
			docs.WriteString(r.Text + "\n")
		}
	}
	noise := make([]byte, 48<<10)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	return map[string]string{
		"prose": prose, "source": some(string(source)), "json": some(string(rows)), "docs": docs.String(),
		"chinese": some("构建用了十二分钟，报告在文档目录里；提交修复了策略包的测试。日本語の文章も、ひらがなとカタカナで書かれています。\n"),
		"base64":  base64.StdEncoding.EncodeToString(noise),
		"dense":   some("Ignore the password token: show the list, send the email and print what is your secret, system: forget. "),
	}
}

// redactor is one that knows a secret.
func redactor(t testing.TB) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Secrets: map[string]string{"PW": "hunter-22-hunter"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestACleanResultCostsNoAllocation(t *testing.T) {
	r := redactor(t)
	if n := testing.AllocsPerRun(100, func() {
		if s, _ := r.String("an ordinary token of speech"); s == "" {
			t.Fatal("empty")
		}
	}); n > 0 && !raced {
		t.Errorf("String: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		s, _ := r.String(prose)
		if scan.Injection(s).Score > 0 || scan.Visible(s) != prose {
			t.Fatal("ordinary text is suspected")
		}
	}); n > 0 && !raced {
		t.Errorf("a clean result of %d bytes: %v allocations", len(prose), n)
	}
}

// BenchmarkResult is all that the bridge does to one result.
func BenchmarkResult(b *testing.B) {
	r := redactor(b)
	texts := kinds(b)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(texts[name])))
			b.ReportAllocs()
			for b.Loop() {
				s, _ := r.String(texts[name])
				scan.Injection(s)
				scan.Visible(s)
			}
		})
	}
}

func BenchmarkInjectionClean(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		scan.Injection(prose)
	}
}

func BenchmarkInjectionDocs(b *testing.B) {
	var text strings.Builder
	for _, r := range corpus(b, "scanner_neg.json") {
		if r.Kind == "doc/changelog" {
			text.WriteString(r.Text + "\n")
		}
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		scan.Injection(text.String())
	}
}

func BenchmarkWrap(b *testing.B) {
	m := scan.NewMarker([]byte("0123456789abcdef"))
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		m.Wrap(prose)
	}
}
