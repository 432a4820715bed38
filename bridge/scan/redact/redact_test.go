package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func redactor(t testing.TB, secrets map[string]string, patterns ...string) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Secrets: secrets, Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// made joins the parts of an invented secret, so that no scanner takes this file for a leak.
func made(parts ...string) string { return strings.Join(parts, "") }

const (
	alnum = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6hJ9kL2nP5rS8tV1wX4yZ7bC0eF3g" +
		"H6iJ9kM2lO5nQ8pS1rU4tW7vY0xA3zC6bE9dG2fI5hK8jM1lN4oP7qR0sT3uV6wX9yZ2aB5cD8"
	hexes  = "3f9a1c7e5b2d8046e1a9c4f7b3d25068f7a1e3c95d2b8640a1c7e9f3b5d28046"
	uppers = "7QK3MZP2XW5HJ4RN6TVB"
)

var invented = map[string]string{
	"private-key":                   made("-----BEGIN RSA PRIVATE", " KEY-----\n", alnum, "\n", alnum, "\n-----END RSA PRIVATE", " KEY-----"),
	"age-secret-key":                made("AGE-SECRET", "-KEY-1", strings.Repeat("QPZRY9X8GF2TVDW0S3JN", 3)[:58]),
	"github-pat":                    made("gh", "p_", alnum[:36]),
	"github-oauth":                  made("gh", "o_", alnum[:36]),
	"github-app-token":              made("gh", "s_", alnum[:36]),
	"github-refresh-token":          made("gh", "r_", alnum[:36]),
	"github-fine-grained-pat":       made("github", "_pat_", alnum[:22], "_", alnum[:59]),
	"gitlab-pat":                    made("glp", "at-", alnum[:20]),
	"gitlab-ptt":                    made("glp", "tt-", hexes[:40]),
	"gitlab-deploy-token":           made("gld", "t-", alnum[:20]),
	"aws-access-token":              made("AK", "IA", uppers[:16]),
	"anthropic-api-key":             made("sk-", "ant-api03-", alnum[:80], "AA"),
	"openai-api-key":                made("sk-", "proj-", alnum[:74]),
	"huggingface-access-token":      made("hf", "_", strings.Repeat("abCDefGHij", 4)[:34]),
	"gcp-api-key":                   made("AI", "za", alnum[:35]),
	"slack-bot-token":               made("xo", "xb-123456789012-1234567890123-", alnum[:24]),
	"slack-user-token":              made("xo", "xp-123456789012-123456789012-123456789012-", hexes[:32]),
	"slack-app-token":               made("xa", "pp-1-A0123ABCDEF-1234567890123-", hexes[:64]),
	"slack-webhook-url":             made("https://hooks.slack", ".com/services/T01234567/B01234567/", alnum[:24]),
	"stripe-access-token":           made("sk", "_live_", alnum[:24]),
	"sendgrid-api-token":            made("S", "G.", alnum[:22], ".", alnum[:43]),
	"npm-access-token":              made("np", "m_", alnum[:36]),
	"pypi-upload-token":             made("pypi-AgEIcHlw", "aS5vcmc", alnum[:70]),
	"rubygems-api-token":            made("ruby", "gems_", hexes[:48]),
	"digitalocean-pat":              made("dop", "_v1_", hexes),
	"databricks-api-token":          made("da", "pi", hexes[:32]),
	"doppler-api-token":             made("dp.", "pt.", alnum[:43]),
	"shopify-access-token":          made("shp", "at_", hexes[:32]),
	"square-access-token":           made("sq0", "atp-", alnum[:22]),
	"twilio-api-key":                made("S", "K", hexes[:32]),
	"telegram-bot-api-token":        made("123456789", ":AA", alnum[:33]),
	"linear-api-key":                made("lin", "_api_", alnum[:40]),
	"notion-api-token":              made("nt", "n_12345678901", alnum[:35]),
	"hashicorp-tf-api-token":        made(alnum[:14], ".atlas", "v1.", alnum[:64]),
	"vault-service-token":           made("hv", "s.", alnum[:95]),
	"azure-ad-client-secret":        made("abc8", "Q~", alnum[:34]),
	"grafana-service-account-token": made("gl", "sa_", alnum[:32], "_", hexes[:8]),
	"postman-api-token":             made("PM", "AK-", hexes[:24], "-", hexes[:34]),
	"pulumi-api-token":              made("pu", "l-", hexes[:40]),
	"planetscale-api-token":         made("pscale", "_tkn_", alnum[:40]),
	"sentry-user-token":             made("sntry", "u_", hexes),
	"new-relic-user-api-key":        made("NR", "AK-", strings.ToUpper(alnum[:27])),
	"atlassian-api-token":           made("ATA", "TT3", (alnum + alnum)[:186]),
	"jwt":                           made("eyJhbGciOiJIUzI1", "NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", alnum[:43]),
	"mailgun-private-api-token":     made("mailgun: ke", "y-", hexes[:32]),
	"flyio-access-token":            made("fo", "1_", alnum[:43]),
	"heroku-api-key-v2":             made("HRKU", "-AA", alnum[:58]),
	"perplexity-api-key":            made("pp", "lx-", alnum[:48]),
	"authorization-header":          made("Authorization: Bea", "rer ", alnum[:30]),
	"url-password":                  made("https://bob:", "s3cr3tpw", "@git.example.com/x.git"),
}

func TestEveryShapeIsRedactedInEveryPlace(t *testing.T) {
	r := redactor(t, nil)
	for id, secret := range invented {
		for _, place := range []string{"%s", "x = \"%s\"", "{\"a\": [\"%s\"]}", "see (%s).", "line one\n%s\nline two"} {
			got, found := r.String(fmt.Sprintf(place, secret))
			if len(found) != 1 || found[0].Rule != id || found[0].N != 1 || strings.Count(got, "[redacted:"+id+"]") != 1 {
				t.Errorf("%s in %q: %q %v", id, place, got, found)
			}
			if again, more := r.String(got); again != got {
				t.Errorf("%s: redacted twice: %q %v", id, again, more)
			}
		}
	}
}

func TestGenericAssignmentsAreRedacted(t *testing.T) {
	r := redactor(t, nil)
	for _, text := range []string{
		`api_key = "` + alnum[:32] + `"`, `"clientSecret": "` + alnum[3:40] + `"`, `DB_PASSWORD=` + alnum[5:25], "access-token: " + alnum[7:40] + "\n",
		`aws_secret_access_key = ` + alnum[:20] + "/" + alnum[20:39], `{\"api_key\": \"` + alnum[:32] + `\"}`, `password => 'k8#Lm2!pQz9@w'`, "API_TOKEN='" + hexes[:40] + "'",
		`passwd: "` + alnum[9:30] + `",`,
	} {
		got, found := r.String(text)
		if len(found) != 1 || found[0].Rule != "generic-api-key" || !strings.Contains(got, "[redacted:generic-api-key]") {
			t.Errorf("%q became %q %v", text, got, found)
		}
	}
}

func TestHighConfidenceIsOnlyForShapesThatCannotBeElse(t *testing.T) {
	r := redactor(t, nil)
	weak := map[string]bool{"twilio-api-key": true, "azure-ad-client-secret": true, "jwt": true, "mailgun-private-api-token": true, "authorization-header": true, "url-password": true}
	for id, secret := range invented {
		rule, ok := r.HighConfidence("x = '" + secret + "'")
		if ok == weak[id] || ok && rule != id {
			t.Errorf("%s: %s %v", id, rule, ok)
		}
	}
	if rule, ok := r.HighConfidence(`password = "` + alnum[:30] + `"`); ok {
		t.Errorf("an assignment is %s", rule)
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	r := redactor(t, nil)
	for _, text := range []string{
		"github.com/google/go-cmp v0.7.0 h1:wk8382ETsv4JYUZwIsn6YpYiWiBsYLSJiTsyBTSuvks=",
		"go.starlark.net v0.0.0-20260908191801-89a6a09411d5/go.mod h1:YKMCv9b1WrfWmeqdV5MAuEHWsu5iC+fe6kYl2sQjdI8=",
		"commit f33e55c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7", "sha256:" + hexes, "id: 123e4567-e89b-12d3-a456-426614174000", "md5 d41d8cd98f00b204e9800998ecf8427e",
		"The header is Bearer, as RFC 6750 says.", "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "use a Bearer token",
		"the token: we parse it with auth2.ParseToken and return", "password: see the wiki", "secret = os.environ['API_SECRET_V2']", "token := lexer.NextToken1(buf2)",
		`password = "changeme123"`, `api_key = "YOUR_API_KEY_12345"`, `token: ${{ secrets.GITHUB_TOKEN2 }}`, "max_tokens: 1000000000000", "tokenizer = AutoTokenizer2.from_pretrained",
		"https://example.com:8080/a@b", "postgres://user:password@localhost/db", "https://${USER}:${PASS}@host/", "ssh://git@host:22/x", "mailto://a", "http://[::1]:80/",
		made("AK", "IAIOSFODNN7EXAMPLE"), "-----BEGIN CERTIFICATE-----\n" + alnum + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + alnum + "\n-----END PUBLIC KEY-----",
		"task_sk_live_migration_of_everything", "sk-learn is a library", "the risk_test_suite", "x-api-key", "SG.1", "eyJ is how a JWT begins", "12:AAB",
		"secret: /etc/secrets/2024/x1", "credentials=./creds/file1.json", "token: https://a.b/c1d2e3f4g5", "access_key: sha256-abcdef0123456789",
		"token = a1.b2.c3.d4.e5", "token: parser/v2/token7/kindX", "secret=projects/p1/secrets9/latest", "Q~", "aQ~" + alnum[:34],
	} {
		if got, found := r.String(text); got != text || found != nil {
			t.Errorf("%q became %q %v", text, got, found)
		}
	}
}

// ordinary are mails and pages without secrets.
func ordinary(t testing.TB) (list []string) {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/bench/scanner_neg.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rows []struct{ Text string } }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Rows {
		list = append(list, r.Text)
	}
	return list
}

func TestFalsePositivesOnProseAndSource(t *testing.T) {
	r := redactor(t, nil)
	var all, wrong int
	check := func(text string) {
		all++
		if got, found := r.String(text); found != nil {
			wrong++
			t.Logf("%v: %s", found, scan.Line(got, 200))
		}
	}
	for _, text := range ordinary(t) {
		check(text)
	}
	files := []string{"../../../go.mod", "../../../go.sum"}
	for _, pattern := range []string{"*.go", "../*.go"} {
		list, err := filepath.Glob(pattern)
		if err != nil || len(list) < 5 {
			t.Fatal(list, err)
		}
		files = append(files, list...)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if f == "redact_test.go" { // holds the invented secrets
			continue
		}
		for line := range strings.Lines(string(data)) {
			check(line)
		}
	}
	if rate := float64(wrong) / float64(all); rate > 0.01 {
		t.Errorf("false positives %.4f (%d of %d), want at most 0.01", rate, wrong, all)
	}
}

var lowerEscapes = strings.NewReplacer("%2F", "%2f", "%3C", "%3c", "%3E", "%3e", "%C3%A9", "%c3%a9", "%0A", "%0a", "%2B", "%2b")

func TestKnownSecretsAreFoundInEveryEncoding(t *testing.T) {
	secret := "p@ss/w<rd>\"é\n+7"
	r := redactor(t, map[string]string{"DB": secret})
	asJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	in := func(parts ...string) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Join(parts, "")))
	}
	for name, text := range map[string]string{
		"plain": secret, "json": string(asJSON), "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "html": html.EscapeString(secret),
		"lower query": lowerEscapes.Replace(url.QueryEscape(secret)), "hex": hex.EncodeToString([]byte(secret)),
		"upper hex": strings.ToUpper(hex.EncodeToString([]byte(secret))), "crlf": strings.ReplaceAll(secret, "\n", "\r\n"),
		"base64": in(secret), "base64 after one": in("x", secret, "y"), "base64 after two": in("xy", secret, "yz"), "base64 after three": in("xyz", secret, "y"),
		"url base64": base64.RawURLEncoding.EncodeToString([]byte("??" + secret)),
	} {
		got, found := r.String("before " + text + " after")
		if len(found) != 1 || found[0] != (redact.Finding{Rule: "known-secret", Name: "DB", N: 1}) || !strings.Contains(got, "[redacted:known-secret]") {
			t.Errorf("%s: %q %v", name, got, found)
		}
		if who, ok := r.HasKnown(text); !ok || who != "DB" {
			t.Errorf("%s: HasKnown = %q, %v", name, who, ok)
		}
	}
	if _, ok := r.HasKnown("p@ss/w<rd>\"é\n+8"); ok {
		t.Error("another text is taken for the secret")
	}
	if _, ok := redactor(t, nil).HasKnown(secret); ok {
		t.Error("a secret is known to nobody")
	}
}

func TestNewRedactorReportsEveryFaultWithoutTheSecret(t *testing.T) {
	_, err := redact.New(redact.Config{
		Secrets: map[string]string{"A": "qqq", "B": "zzzzz", "C": "long enough"}, Patterns: []string{"(", "x*", "ok[0-9]"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"secret A: 3 bytes", "secret B: 5 bytes", "pattern 1", "pattern 2: matches the empty text"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	for _, bad := range []string{"qqq", "zzzzz", "secret C", "pattern 3"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("the error holds %q: %v", bad, err)
		}
	}
}

func TestPatternsOfTheUser(t *testing.T) {
	r := redactor(t, nil, `EMP-[0-9]{4}`, `\bzz\b`)
	got, found := r.String("EMP-1234, EMP-5678 and zz")
	want := []redact.Finding{{Rule: "pattern-1", N: 2}, {Rule: "pattern-2", N: 1}}
	if d := cmp.Diff(want, found); d != "" || got != "[redacted:pattern-1], [redacted:pattern-1] and [redacted:pattern-2]" {
		t.Errorf("%q %s", got, d)
	}
	if got, found := r.String(`\b matches nothing of its own`); found != nil {
		t.Errorf("%q %v", got, found)
	}
}

func nest(v any, depth int) any {
	for range depth {
		v = []any{v}
	}
	return v
}

func TestValueIsRedactedAtAnyDepth(t *testing.T) {
	secret := "hunter-22-hunter"
	r := redactor(t, map[string]string{"PW": secret, "PIN": "48151623"})
	known := "[redacted:known-secret]"
	for _, tt := range []struct {
		name     string
		in, want any
		found    []redact.Finding
	}{
		{"a text", secret, known, []redact.Finding{{"known-secret", "PW", 1}}},
		{"bytes", []byte("x" + secret), []byte("x" + known), []redact.Finding{{"known-secret", "PW", 1}}},
		{"nested (D13)", map[string]any{"a": []any{int64(1), map[string]any{"b": secret, "c": secret}}}, map[string]any{"a": []any{int64(1), map[string]any{"b": known, "c": known}}}, []redact.Finding{{"known-secret", "PW", 2}}},
		{"a key", map[string]any{secret: "v", "k": nil}, map[string]any{known: "v", "k": nil}, []redact.Finding{{"known-secret", "PW", 1}}},
		{"two keys that become one", map[string]any{secret: 1, "48151623": 2}, map[string]any{known: 2, known + "#2": 1}, []redact.Finding{{"known-secret", "PIN", 1}, {"known-secret", "PW", 1}}},
		{"a number", []any{int64(48151623), big.NewInt(48151623), 48151623.0, 48151623, int64(7)}, []any{known, known, known, known, int64(7)}, []redact.Finding{{"known-secret", "PIN", 4}}},
		{"too deep (D24)", nest("x", 65), nest("[redacted:too-deep]", 65), []redact.Finding{{"too-deep", "", 1}}},
		{"as deep as allowed", nest(secret, 64), nest(known, 64), []redact.Finding{{"known-secret", "PW", 1}}},
		{"what is not plain data", []any{struct{ S string }{secret}}, []any{"[redacted:not-plain]"}, []redact.Finding{{"not-plain", "", 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := fmt.Sprint(tt.in)
			got, found := r.Value(tt.in)
			if !reflect.DeepEqual(tt.want, got) { // cmp.Diff takes time exponential in the depth
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if d := cmp.Diff(tt.found, found); d != "" {
				t.Error(d)
			}
			if fmt.Sprint(tt.in) != before {
				t.Error("the input was changed")
			}
		})
	}
}

func TestCleanDataIsNotCopied(t *testing.T) {
	r := redactor(t, map[string]string{"PW": "hunter-22-hunter"})
	v := any(map[string]any{"a": []any{"some text", int64(1), nil, true, 2.5, []byte("x")}, "b": map[string]any{"c": "d"}})
	out, found := r.Value(v)
	if found != nil || !cmp.Equal(out, v) {
		t.Errorf("%v %v", out, found)
	}
	out.(map[string]any)["new"] = true
	if v.(map[string]any)["new"] != true {
		t.Error("clean data was copied")
	}
}

// Wherever known secrets stand, none is left.
func TestNoKnownSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(8, 40, 60).Draw(t, "secret")
		r, err := redact.New(redact.Config{Secrets: map[string]string{"S": secret}})
		if err != nil {
			t.Fatal(err)
		}
		around := rapid.StringN(0, 10, 20)
		text := around.Draw(t, "a") + secret + around.Draw(t, "b")
		asJSON, _ := json.Marshal(text)
		for _, s := range []string{text, string(asJSON), url.QueryEscape(text), url.PathEscape(text), hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text))} {
			if _, ok := r.HasKnown(s); !ok {
				t.Fatalf("%q is not found in %q", secret, s)
			}
			if got, _ := r.String(s); strings.Contains(got, secret) && !strings.Contains("[redacted:known-secret]", secret) {
				t.Fatalf("%q is left in %q", secret, got)
			}
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, s := range invented {
		f.Add(s)
	}
	r, err := redact.New(redact.Config{Secrets: map[string]string{"S": "hunter-22"}, Patterns: []string{`[0-9]{4}-[0-9]{4}`}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, found := r.String(s)
		if (got == s) != (found == nil) {
			t.Fatalf("%q became %q with %v", s, got, found)
		}
		if strings.Contains(got, "hunter-22") {
			t.Fatalf("a known secret is left in %q", got)
		}
	})
}

var prose = strings.Repeat("The build took 12 minutes; the report is in docs/report.md, and commit f33e55c fixed the test for package policy. ", 36)[:4096]

func BenchmarkRedactClean(b *testing.B) {
	r := redactor(b, map[string]string{"PW": "hunter-22-hunter"})
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		r.String(prose)
	}
}

// A key file that is read by lines, or whose lines are joined, is a secret all the
// same.
func TestTheLinesOfASecretAreSecrets(t *testing.T) {
	pem := "-----BEGIN X KEY-----\nAAAAB3NzaC1yc2EAAAADAQABAAAB\nQDGm7pX3vVd1h2k9s0qLw8Zt\nshort\n-----END X KEY-----\n"
	r := redactor(t, map[string]string{"PEM": pem})
	for _, text := range []string{"line 2: AAAAB3NzaC1yc2EAAAADAQABAAAB", strings.ReplaceAll(pem, "\n", " "), "a QDGm7pX3vVd1h2k9s0qLw8Zt b"} {
		if out, found := r.String(text); found == nil || strings.Contains(out, "AAAAB3") || strings.Contains(out, "QDGm7") {
			t.Errorf("%q became %q", text, out)
		}
	}
	if out, found := r.String("-----BEGIN X KEY----- is how it begins, short as it is"); found != nil {
		t.Errorf("ordinary text became %q", out)
	}
	if out, _ := r.String(pem); strings.Count(out, "[redacted:") != 1 {
		t.Errorf("the whole became %q", out)
	}
}
