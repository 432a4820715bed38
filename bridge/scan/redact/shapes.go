package redact

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/codeact-dev/codeact/bridge/scan/words"
)

// A shape is what a kind of secret looks like. Ids are those of gitleaks, so that its documentation and allow lists apply; the two
// shapes that it lacks are marked.
type shape struct {
	id    string
	keys  []string // one of these must stand at the beginning (after `back` bytes), in any case
	text  string   // of the regular expression, matched from there; group 1, if any, is the secret
	high  bool     // so specific that a match is a secret: may refuse a whole block
	loose bool     // may stand in the middle of a word
	back  func(s string, at int) int
	real  func(match string) bool // nil, or tells a secret from what only looks like one
	maybe func(text string) bool  // nil, or a cheap look that tells most of what cannot match
	re    func() compiled         // by compileShapes
}

// A compiled is what a shape's expression comes to.
type compiled struct {
	*regexp.Regexp
	window  int  // what it looks at, in bytes: its longest match, and a character that may decide where that ends
	anyCase bool // case does not count in its key
}

// window bounds what follows a key, in bytes: nothing but a private key is longer, and an RSA key of 16,384 bits has 12,600.
const window = 16 << 10

// shortWindow is for all others: a JWT with some dozen claims has about 2,000 bytes.
const shortWindow = 4 << 10

var shapes = compileShapes([]shape{
	// A query has plus signs for spaces.
	{id: "private-key", keys: []string{"-----BEGIN"}, high: true, loose: true,
		text: `-----BEGIN[ +A-Z0-9_-]{0,80}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----(?s:.{40,}?)(?:-----END[ +A-Z0-9_-]{0,80}-----|\z)`},
	{id: "age-secret-key", keys: []string{"AGE-SECRET-KEY-1"}, high: true, text: `AGE-SECRET-KEY-1[0-9A-Z]{58}`},
	{id: "github-pat", keys: []string{"ghp_"}, high: true, text: `ghp_[0-9a-zA-Z]{36}`},
	{id: "github-oauth", keys: []string{"gho_"}, high: true, text: `gho_[0-9a-zA-Z]{36}`},
	{id: "github-app-token", keys: []string{"ghu_", "ghs_"}, high: true, text: `gh[us]_[0-9a-zA-Z]{36}`},
	{id: "github-refresh-token", keys: []string{"ghr_"}, high: true, text: `ghr_[0-9a-zA-Z]{36}`},
	{id: "github-fine-grained-pat", keys: []string{"github_pat_"}, high: true, text: `github_pat_\w{60,}`},
	{id: "gitlab-pat", keys: []string{"glpat-"}, high: true, text: `glpat-[\w.-]{20,}`},
	{id: "gitlab-ptt", keys: []string{"glptt-"}, high: true, text: `glptt-[0-9a-f]{40}`},
	{id: "gitlab-deploy-token", keys: []string{"gldt-"}, high: true, text: `gldt-[\w-]{20,}`},
	{id: "gitlab-runner-authentication-token", keys: []string{"glrt-"}, high: true, text: `glrt-[\w.-]{20,}`},
	{id: "aws-access-token", keys: []string{"AKIA", "ASIA", "ABIA", "ACCA", "A3T"}, high: true, real: noExample,
		text: `(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`},
	{id: "anthropic-api-key", keys: []string{"sk-ant-"}, high: true, text: `sk-ant-[\w-]{20,}`},
	{id: "openai-api-key", keys: []string{"sk-"}, high: true, real: digits(2),
		text: `sk-(?:(?:proj|svcacct|admin)-[\w-]{40,}|[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}|[a-zA-Z0-9]{48})`},
	{id: "huggingface-access-token", keys: []string{"hf_"}, high: true, text: `hf_[a-zA-Z]{34}\b`},
	{id: "perplexity-api-key", keys: []string{"pplx-"}, high: true, text: `pplx-[a-zA-Z0-9]{48}`},
	{id: "gcp-api-key", keys: []string{"AIza"}, high: true, text: `AIza[\w-]{35}`},
	{id: "slack-bot-token", keys: []string{"xoxb-"}, high: true, text: `xoxb-[0-9]{8,14}-[\w-]{8,}`},
	{id: "slack-user-token", keys: []string{"xoxp-", "xoxe-"}, high: true, text: `xox[pe](?:-[0-9]{8,14}){1,3}-[\w-]{20,}`},
	{id: "slack-app-token", keys: []string{"xapp-"}, high: true, text: `xapp-\d-[A-Za-z0-9]+-\d+-[a-z0-9]+`},
	{id: "slack-legacy-token", keys: []string{"xoxo-", "xoxs-", "xoxa-", "xoxr-"}, high: true, text: `xox[osar]-(?:\d-)?[0-9a-zA-Z-]{16,}`},
	{id: "slack-webhook-url", keys: []string{"hooks.slack.com/"}, high: true, loose: true,
		text: `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,}`},
	{id: "stripe-access-token", keys: []string{"sk_", "rk_"}, high: true, text: `[rs]k_(?:test|live|prod)_[a-zA-Z0-9]{10,99}`},
	{id: "sendgrid-api-token", keys: []string{"SG."}, high: true, text: `SG\.[\w.=-]{66}`},
	{id: "npm-access-token", keys: []string{"npm_"}, high: true, text: `npm_[a-zA-Z0-9]{36}`},
	{id: "pypi-upload-token", keys: []string{"pypi-AgEIcHlwaS5vcmc"}, high: true, text: `pypi-AgEIcHlwaS5vcmc[\w-]{50,}`},
	{id: "rubygems-api-token", keys: []string{"rubygems_"}, high: true, text: `rubygems_[a-f0-9]{48}`},
	{id: "digitalocean-pat", keys: []string{"dop_v1_"}, high: true, text: `dop_v1_[a-f0-9]{64}`},
	{id: "digitalocean-access-token", keys: []string{"doo_v1_"}, high: true, text: `doo_v1_[a-f0-9]{64}`},
	{id: "databricks-api-token", keys: []string{"dapi"}, high: true, text: `dapi[a-f0-9]{32}(?:-\d)?\b`},
	{id: "doppler-api-token", keys: []string{"dp.pt."}, high: true, text: `dp\.pt\.[a-zA-Z0-9]{43}`},
	{id: "shopify-access-token", keys: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, high: true, text: `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`},
	{id: "square-access-token", keys: []string{"EAAA", "sq0atp-", "sq0csp-"}, high: true, real: digits(3),
		text: `(?:EAAA[\w-]{60}|sq0atp-[\w-]{22}|sq0csp-[\w-]{43})\b`},
	{id: "twilio-api-key", keys: []string{"SK"}, text: `SK[0-9a-f]{32}\b`},
	{id: "telegram-bot-api-token", keys: []string{":AA"}, high: true, loose: true, back: overDigits, text: `[0-9]{8,10}:AA[\w-]{32,33}\b`},
	{id: "telegram-bot-api-token", keys: []string{"telegr"}, loose: true, // where the name says so, a token need not begin with AA
		text: `(?i:telegr)[\w\s"'\x60=:>.,|?$(-]{0,50}?([0-9]{5,16}:A[\w-]{34})`},
	{id: "linear-api-key", keys: []string{"lin_api_"}, high: true, text: `lin_api_[a-zA-Z0-9]{40}`},
	{id: "notion-api-token", keys: []string{"ntn_"}, high: true, text: `ntn_[0-9]{11}[A-Za-z0-9]{35}`},
	{id: "hashicorp-tf-api-token", keys: []string{".atlasv1."}, high: true, loose: true, back: back(14), text: `[a-zA-Z0-9]{14}\.atlasv1\.[\w=-]{60,70}`},
	{id: "vault-service-token", keys: []string{"hvs."}, high: true, text: `hvs\.[\w-]{90,120}`},
	{id: "vault-service-token", keys: []string{"s."}, real: digits(3), text: `s\.[a-zA-Z0-9]{24}\b`}, // before Vault 1.10
	{id: "vault-batch-token", keys: []string{"hvb."}, high: true, text: `hvb\.[\w-]{138,300}`},
	{id: "azure-ad-client-secret", keys: []string{"Q~"}, loose: true, back: back(4), text: `[\w~.]{3}\dQ~[\w~.-]{31,34}`},
	{id: "grafana-service-account-token", keys: []string{"glsa_"}, high: true, text: `glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}`},
	{id: "grafana-cloud-api-token", keys: []string{"glc_"}, high: true, text: `glc_[A-Za-z0-9+/]{32,400}={0,3}`},
	{id: "postman-api-token", keys: []string{"PMAK-"}, high: true, text: `PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}`},
	{id: "pulumi-api-token", keys: []string{"pul-"}, high: true, text: `pul-[a-f0-9]{40}`},
	{id: "planetscale-api-token", keys: []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, high: true, text: `pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}`},
	{id: "heroku-api-key-v2", keys: []string{"HRKU-AA"}, high: true, text: `HRKU-AA[\w-]{58}`},
	{id: "flyio-access-token", keys: []string{"fo1_", "fm1", "fm2_"}, high: true, text: `(?:fo1_[\w-]{43}|fm1[ar]_[a-zA-Z0-9+/]{100,}={0,3}|fm2_[a-zA-Z0-9+/]{100,}={0,3})`},
	{id: "atlassian-api-token", keys: []string{"ATATT3"}, high: true, text: `ATATT3[\w=-]{180,190}`},
	{id: "sentry-user-token", keys: []string{"sntryu_"}, high: true, text: `sntryu_[a-f0-9]{64}`},
	{id: "sentry-org-token", keys: []string{"sntrys_eyJ"}, high: true, text: `sntrys_eyJ[\w+/=-]{80,}`},
	{id: "new-relic-user-api-key", keys: []string{"NRAK-"}, high: true, text: `NRAK-[A-Za-z0-9]{27}`},
	{id: "mailgun-private-api-token", keys: []string{"mailgun"}, loose: true, text: `(?i:mailgun)(?s:.{0,40}?)\b(key-[a-f0-9]{32})\b`},
	{id: "1password-service-account-token", keys: []string{"ops_eyJ"}, high: true, text: `ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}`},
	{id: "jwt", keys: []string{"eyJ"}, text: `eyJ[\w-]{14,}\.eyJ[\w-]{14,}\.(?:[\w-]{10,})?`}, // alg none has no signature
	// Two of ours: gitleaks knows these only inside a curl command.
	{id: "authorization-header", keys: []string{"authorization"}, loose: true, real: credential(3.2),
		text: `(?i:(?:proxy-)?authorization["'\\]{0,2}\s{0,3}[:=,]\s{0,3}["'\\]{0,2}(?:bearer|basic|token|apikey)\s{1,3})([\w.~+/=-]{12,})`},
	{id: "url-password", keys: []string{"://"}, maybe: userinfo, loose: true, real: noPlaceholder,
		text: `://[^\s/:@"'<>\x60]{0,100}:([^\s/:@"'<>\x60]{3,300})@[\w\[.-]`},
	{id: "generic-api-key", loose: true, maybe: assignment, real: quoted,
		keys: []string{"api_key", "apikey", "api-key", "api key", "secret", "token", "passw", "pwd", "access_key", "access-key", "accesskey", "credential", "creds", "private_key", "private-key", "_auth"},
		text: `(?i:[a-z_ -]{3,15})\w{0,20}\\?["'\]]{0,2}\s{0,3}(?:=>|:{1,3}=|[.?]=|==|=|:|,)\s{0,3}\\?["'\x60]([\w.=+/@!#$%^&*~-]{10,150})\\?["'\x60]`},
	{id: "generic-api-key", loose: true, maybe: assignment, real: unquoted,
		keys: []string{"api_key", "apikey", "api-key", "secret", "token", "passw", "pwd", "access_key", "access-key", "accesskey", "credential", "creds", "private_key", "private-key", "_auth"},
		text: `(?i:[a-z_-]{3,15})\w{0,20}["'\]]{0,2}(?:[ \t]{0,3}(?:=|:)[ \t]{0,3}|>\s{0,9})([\w.=+/@!#$%^&*~-]{10,150})(?:[\s,;&"')}\]<\\]|\z)`},
})

func compileShapes(list []shape) []shape {
	for i := range list {
		list[i].re = sync.OnceValue(list[i].compile)
	}
	return list
}

func (sh *shape) compile() compiled {
	size := shortWindow
	if n := longest(sh.text); n >= 0 {
		size = min(n+utf8.UTFMax, window)
	} else if sh.id == "private-key" {
		size = window
	}
	return compiled{regexp.MustCompile(`^(?:` + sh.text + `)`), size, strings.Contains(sh.text, "(?i")}
}

var shapeIndex = sync.OnceValue(func() *words.Index {
	var list []words.Term
	for i, sh := range shapes {
		list = append(list, words.Of(i, sh.keys)...)
	}
	return words.New(list)
})

// at returns the secret of this shape whose key stands at lo.
func (sh *shape) at(s, key string, lo int) (span, bool) {
	re := sh.re()
	if !re.anyCase && !strings.HasPrefix(s[lo:], key) {
		return span{}, false
	}
	if sh.back != nil {
		lo = sh.back(s, lo)
	}
	if lo < 0 || !sh.loose && lo > 0 && words.In(s[lo-1]) {
		return span{}, false
	}
	text := s[lo:min(len(s), lo+re.window)]
	if sh.maybe != nil && !sh.maybe(text) {
		return span{}, false
	}
	m := re.FindStringSubmatchIndex(text)
	if m == nil {
		return span{}, false
	}
	from, to := m[len(m)-2], m[len(m)-1]
	if sh.real != nil && !sh.real(text[from:to]) {
		return span{}, false
	}
	return span{lo: lo + from, hi: lo + to, rule: sh.id}, true
}

// userinfo reports that what follows `://` is not yet the path where an @ comes.
func userinfo(text string) bool {
	i := strings.IndexAny(text[3:], "@/\"'<>` \t\n\f\r")
	return i > 0 && text[3+i] == '@'
}

// operatorWithin is where, at most, an assignment's operator stands behind the beginning of the name, in bytes.
const operatorWithin = 80

// assignment reports that nothing but a name stands before an operator. Two letters that are not ASCII count as k and s in any case.
func assignment(text string) bool {
	for i := range min(len(text), operatorWithin) {
		switch c := text[i]; {
		case c == '=' || c == ':' || c == '>', c == ',' && i > 0 && strings.IndexByte("\"'", text[i-1]) >= 0:
			return true
		case (c == '.' || c == '?') && i+1 < len(text) && text[i+1] == '=':
			return true
		case !words.In(c) && c < utf8.RuneSelf && !strings.ContainsRune("-\\\"'] \t\n\f\r", rune(c)):
			return false
		}
	}
	return false
}

func back(n int) func(string, int) int { return func(_ string, at int) int { return at - n } }

// overDigits goes back over at most ten digits.
func overDigits(s string, at int) int {
	lo := at
	for lo > 0 && at-lo < 10 && '0' <= s[lo-1] && s[lo-1] <= '9' {
		lo--
	}
	return lo
}

func digits(n int) func(string) bool { return func(m string) bool { return countDigits(m) >= n } }

func countDigits(s string) (n int) {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			n++
		}
	}
	return n
}

func noExample(m string) bool { return !strings.HasSuffix(m, "EXAMPLE") }

// noPlaceholder tells a password from `${PASS}`, `%s`, `<password>`, `xxx` and the words that documentation puts in its place.
func noPlaceholder(m string) bool {
	switch strings.ToLower(strings.Trim(m, "*{}$[]()<>")) {
	case "", "pass", "password", "passwd", "pwd", "secret", "token", "xxx", "xxxx", "xxxxx", "your_password", "your-password", "redacted", "port":
		return false
	}
	return !strings.ContainsAny(m, "${}()%[]") || strings.Contains(m, "%") && countDigits(m) > 1 && !strings.ContainsAny(m, "${}()[]")
}

// placeholders stand in documentation and tests where a secret would stand.
var placeholders = words.New(words.Of(0, []string{"example", "changeme", "placeholder", "your_", "your-", "yourapi", "dummy", "redacted", "xxxxxx", "123456789012345", "****", "...", "process.env", "os.environ", "getenv", "secrets."}))

// credential tells a secret from a name or a word: mixed characters, with a digit, of at least so many bits of entropy a character.
func credential(bits float64) func(string) bool {
	return func(m string) bool {
		return countDigits(m) > 0 && strings.IndexFunc(m, words.Letter) >= 0 && entropy(m) >= bits && !placeholders.Any(m)
	}
}

// quoted is what stands in quotes behind such a name. A path is none: PWD is a
// variable of every shell.
func quoted(m string) bool {
	return credential(3.3)(m) && !(strings.HasPrefix(m, "/") && strings.Count(m, "/") > 1 && !strings.ContainsAny(m, "+="))
}

// unquoted asks more, since what follows `token:` without quotes in source or prose is mostly a name, a path or a call.
func unquoted(m string) bool {
	return credential(3.3)(m) && countDigits(m) >= 2 && !strings.HasPrefix(m, "/") && !strings.HasPrefix(m, "./") &&
		!strings.HasPrefix(m, "sha256") && !strings.HasPrefix(m, "sha512") && !strings.Contains(m, "://") && !isPath(m)
}

// isPath reports a dotted or slashed name, such as `auth2.Token.FromV1`: every part of it is short.
func isPath(m string) bool {
	parts := strings.FieldsFunc(m, func(r rune) bool { return strings.ContainsRune("./-_=", r) })
	for _, p := range parts {
		if len(p) > 12 {
			return false
		}
	}
	return len(parts) > 2
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) (bits float64) {
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
