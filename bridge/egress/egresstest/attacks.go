// Package egresstest lists ways to make a program reach what it must not: its own machine, the networks around it, the metadata of a
// cloud, or another host than the one that was judged. It holds data and a resolver that lies.
//
// Whoever has a way to the network runs the whole list through it. That nothing is reached proves little unless the same way
// reaches what it may: run a good request beside it.
package egresstest

import "strings"

// An Attack is a request that must be refused before anything is sent.
type Attack struct {
	Name    string
	URL     string   // as a model may write it
	Answers []string // what the resolver says, see Resolver; nil knows no name
	Reason  string   // a word of the refusal: another one means that another control stopped it, by luck

	URLOnly bool // the trick is not in host and port
	Home    bool // it leads to 127.0.0.1, so a client that may reach this machine gets there: the attack itself works
}

// Resolver is the resolver that the attack needs.
func (a Attack) Resolver() *Resolver { return &Resolver{Answers: a.Answers} }

// HostPort is what a client of a proxy asks it for instead of the URL; ok is false if the attack is not possible there.
func (a Attack) HostPort() (hostport string, ok bool) {
	if a.URLOnly {
		return "", false
	}
	scheme, rest, _ := strings.Cut(a.URL, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if port := rest[strings.LastIndexByte(rest, ':')+1:]; port == rest || strings.Contains(port, "]") {
		rest += map[bool]string{true: ":443", false: ":80"}[strings.EqualFold(scheme, "https")]
	}
	return rest, true
}

// The reasons.
const (
	address  = "tools must not reach"
	number   = "is a number"
	name     = "not a valid domain name"
	user     = "user name"
	scheme   = "scheme"
	absolute = "absolute URL"
	unclear  = "backslash, white space, a control or an invisible character"
	percent  = "percent"
	port     = "port"
	segments = "segments"
	zone     = "zone"
	mapped   = "written as IPv6"
	bracket  = "brackets"
)

// Attacks returns the list. Where an attack leads to this machine it is to the given port of 127.0.0.1 or of another address: a server
// of the test listens there and must see nothing.
func Attacks(homePort string) []Attack {
	var all []Attack
	for _, group := range [][]Attack{literals(), notations(), names(), readings(), schemes()} {
		for _, a := range group {
			a.URL = strings.ReplaceAll(a.URL, "PORT", homePort)
			all = append(all, a)
		}
	}
	return all
}

// Locations are where a hostile server redirects to. None is followed.
func Locations(homePort string) []string {
	return []string{
		"http://127.0.0.1:" + homePort + "/", "http://localhost:" + homePort + "/", "http://[::1]:" + homePort + "/",
		"http://2130706433:" + homePort + "/", "//127.0.0.1:" + homePort + "/", "\\\\127.0.0.1:" + homePort + "\\",
		"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/latest/meta-data/",
		"file:///etc/passwd", "gopher://127.0.0.1:" + homePort + "/_x", "javascript:alert(1)", "data:text/plain,x", "/inner", "?again",
	}
}

// literals write an address as it is.
func literals() []Attack {
	list := func(home bool, urls ...string) (out []Attack) {
		for _, u := range urls {
			out = append(out, Attack{Name: "literal " + u, URL: u, Reason: address, Home: home})
		}
		return out
	}
	return append(list(true, "http://127.0.0.1:PORT/", "HTTP://127.0.0.1:PORT", "http://127.0.0.1.:PORT/", "http://127.0.0.1:PORT/?q=a@b#c"),
		list(false,
			"http://127.8.9.1:PORT/", "http://127.255.255.254:PORT/", "http://0.0.0.0:PORT/", "http://0.1.2.3/",
			"http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/",
			"http://100.64.0.1/", "http://100.127.255.254/", "http://100.100.100.200/latest/meta-data/",
			"http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/v2/credentials", "http://168.63.129.16/machine",
			"http://192.0.0.192/opc/v1/", "http://192.0.2.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://198.18.0.1/", "http://192.88.99.1/",
			"http://224.0.0.1/", "http://239.255.255.250/", "http://240.0.0.1/", "http://255.255.255.255/",
			"http://[::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[::ffff:0:127.0.0.1]:PORT/",
			"http://[fd00:ec2::254]/latest/meta-data/", "http://[fd00::1]/", "http://[fc00::1]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[ff02::1]/",
			"http://[2002:7f00:1::]:PORT/", "http://[2002:a9fe:a9fe::]/", "http://[64:ff9b::7f00:1]:PORT/", "http://[64:ff9b::a9fe:a9fe]/",
			"http://[64:ff9b:1::7f00:1]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[2001:db8::1]/", "http://[100::1]/", "http://[5f00::1]/",
		)...)
}

// notations write an IPv4 address in a way that some parsers read.
func notations() []Attack {
	return []Attack{
		{Name: "decimal", URL: "http://2130706433:PORT/", Reason: number},
		{Name: "decimal, trailing dot", URL: "http://2130706433.:PORT/", Reason: number},
		{Name: "decimal beyond 32 bits", URL: "http://6425673729:PORT/", Reason: number},
		{Name: "hexadecimal", URL: "http://0x7f000001:PORT/", Reason: number},
		{Name: "hexadecimal, upper case", URL: "http://0X7F000001:PORT/", Reason: number},
		{Name: "hexadecimal parts", URL: "http://0x7f.0x0.0x0.0x1:PORT/", Reason: number},
		{Name: "octal", URL: "http://017700000001:PORT/", Reason: number},
		{Name: "octal parts", URL: "http://0177.0.0.1:PORT/", Reason: number},
		{Name: "octal with many zeros", URL: "http://0000177.0.0.1:PORT/", Reason: number},
		{Name: "mixed parts", URL: "http://0x7f.0.0.01:PORT/", Reason: number},
		{Name: "metadata in decimal", URL: "http://2852039166/latest/meta-data/", Reason: number},
		{Name: "metadata in octal", URL: "http://0251.0376.0251.0376/", Reason: number},
		{Name: "two parts", URL: "http://127.1:PORT/", Reason: number},
		{Name: "three parts", URL: "http://127.0.1:PORT/", Reason: number},
		{Name: "five parts", URL: "http://127.0.0.0.1:PORT/", Reason: number},
		{Name: "zero", URL: "http://0:PORT/", Reason: number},
		{Name: "a part that wraps", URL: "http://383.0.0.1:PORT/", Reason: number},
		{Name: "full-width digits", URL: "http://１２７.０.０.１:PORT/", Reason: number},
		{Name: "enclosed digits", URL: "http://①②⑦.⓪.⓪.①:PORT/", Reason: number},
		{Name: "superscript digits", URL: "http://¹²⁷.0.0.1:PORT/", Reason: number},
		{Name: "mathematical digits", URL: "http://𝟭𝟮𝟳.𝟬.𝟬.𝟭:PORT/", Reason: number},
		{Name: "ideographic full stops", URL: "http://127。0。0。1:PORT/", Reason: number},
		{Name: "half-width full stops", URL: "http://127｡0｡0｡1:PORT/", Reason: number},
		{Name: "Arabic-Indic digits", URL: "http://١٢٧.0.0.1:PORT/", Answers: []string{"127.0.0.1"}, Reason: name},
		{Name: "mapped", URL: "http://[::ffff:127.0.0.1]:PORT/", Reason: mapped},
		{Name: "mapped, hexadecimal", URL: "http://[::ffff:7f00:1]:PORT/", Reason: mapped},
		{Name: "mapped, in full", URL: "http://[0:0:0:0:0:ffff:7f00:0001]:PORT/", Reason: mapped},
		{Name: "zone", URL: "http://[fe80::1%25lo]:PORT/", Reason: zone},
		{Name: "zone, bare", URL: "http://[::1%lo]:PORT/", Reason: zone},
		{Name: "IPv6 without brackets", URL: "http://::1:PORT/", Reason: bracket},
		{Name: "IPv6 with one bracket", URL: "http://[::1:PORT/", Reason: bracket},
		{Name: "IPv4 in brackets", URL: "http://[127.0.0.1]:PORT/", Reason: "not an IPv6"},
		{Name: "port 0", URL: "http://127.0.0.1:0/", Reason: port},
		{Name: "port beyond 16 bits", URL: "http://127.0.0.1:65616/", Reason: port},
		{Name: "port of another notation", URL: "http://127.0.0.1:0x50/", Reason: port},
		{Name: "port that is signed", URL: "http://127.0.0.1:+80/", Reason: port},
		{Name: "port that is empty", URL: "http://127.0.0.1:/", Reason: port},
		{Name: "two ports", URL: "http://127.0.0.1:PORT:80/", Reason: bracket},
	}
}

// names resolve to what must not be reached.
func names() []Attack {
	lie := func(name, host, answers string) Attack {
		return Attack{Name: name, URL: "http://" + host + ":PORT/?q=s3cret", Answers: []string{answers}, Reason: address, Home: answers == "127.0.0.1"}
	}
	return []Attack{
		lie("localhost", "localhost", "127.0.0.1"),
		lie("localhost, trailing dot", "localhost.", "127.0.0.1"),
		lie("localhost, long s", "localhoſt", "127.0.0.1"),
		lie("localhost, circled", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "127.0.0.1"),
		lie("localhost, both families", "localhost", "127.0.0.1 ::1"),
		lie("a public name for loopback", "7f000001.nip.io", "127.0.0.1"), // dergigi/ants#182
		lie("an address within a name", "127.0.0.1.nip.io", "127.0.0.1"),
		lie("a name like an internal one", "metadata.google.internal", "169.254.169.254"),
		lie("metadata, Kelvin sign", "\u212aube.metadata.test", "169.254.169.254"),
		lie("an alias of an internal name", "cdn.example.com", "10.0.0.7"),
		lie("an international name", "bücher.example", "192.168.0.1"),
		lie("a homograph of a public name", "ехample.com", "127.0.0.1"), // the first letters are Cyrillic
		lie("IPv6 loopback", "six.test", "::1"),
		lie("IPv6 unique local", "ula.test", "fd12::1"),
		lie("IPv6 metadata", "ec2.test", "fd00:ec2::254"),
		lie("IPv6 link-local with zone", "zone.test", "fe80::1%lo"),
		lie("a public address with zone", "zone2.test", "2606:4700::1111%lo"),
		lie("mapped answer", "mapped.test", "::ffff:127.0.0.1"),
		lie("6to4 answer", "sixtofour.test", "2002:7f00:1::1"),
		lie("NAT64 answer", "nat.test", "64:ff9b::a00:1"),
		lie("unspecified answer", "zero.test", "0.0.0.0"),
		lie("IPv6 unspecified answer", "zero6.test", "::"),
		lie("broadcast answer", "all.test", "255.255.255.255"),
		lie("multicast answer", "many.test", "ff05::1"),
		lie("private first", "mixed.test", "127.0.0.1 8.8.8.8"),
		lie("private last", "mixed.test", "8.8.8.8 127.0.0.1"),
		lie("private in the middle", "mixed.test", "8.8.8.8 10.0.0.1 1.1.1.1"),
		lie("private after many", "mixed.test", strings.Repeat("8.8.8.8 ", 50)+"::1"),
		lie("private in the other family", "mixed.test", "8.8.8.8 fd00::1"),
	}
}

// readings are read as one host by one parser and as another by the next.
func readings() []Attack {
	return []Attack{
		{Name: "host as user name", URL: "http://good.example@127.0.0.1:PORT/", Reason: user},
		{Name: "host as password", URL: "http://a:good.example@127.0.0.1:PORT/", Reason: user},
		{Name: "host and port as user name", URL: "http://good.example:80@127.0.0.1:PORT/", Reason: user},
		{Name: "address as user name", URL: "http://127.0.0.1:PORT@good.example/", Reason: user},
		{Name: "two at signs", URL: "http://a@127.0.0.1:PORT@good.example/", Reason: user},
		{Name: "empty user name", URL: "http://@127.0.0.1:PORT/", Reason: user},
		{Name: "at sign, escaped", URL: "http://good.example%40127.0.0.1:PORT/", Reason: percent},
		{Name: "at sign, full width", URL: "http://good.example＠127.0.0.1:PORT/", Reason: name},
		{Name: "backslash before at sign", URL: "http://127.0.0.1:PORT\\@good.example/", Reason: unclear},
		{Name: "backslash as slash", URL: "http://127.0.0.1:PORT\\.good.example/", Reason: unclear},
		{Name: "backslashes after the scheme", URL: "http:\\\\127.0.0.1:PORT\\", Reason: unclear, URLOnly: true},
		{Name: "slash of full width", URL: "http://127.0.0.1：PORT／.good.example/", Reason: name},
		{Name: "account-of sign, which folds to a slash", URL: "http://good.example℀127.0.0.1:PORT/", Reason: name},
		{Name: "number sign, full width", URL: "http://127.0.0.1＃.good.example:PORT/", Reason: name},
		{Name: "fragment that ends the host early", URL: "http://127.0.0.1:PORT#@good.example/", Reason: address, Home: true},
		{Name: "query that ends the host early", URL: "http://127.0.0.1:PORT?@good.example/", Reason: address, Home: true},
		{Name: "tab in the host", URL: "http://127.0.\t0.1:PORT/", Reason: unclear},
		{Name: "line break in the host", URL: "http://127.0.0.1\n:PORT/", Reason: unclear},
		{Name: "second request behind a line break", URL: "http://good.example:80\r\nGET http://127.0.0.1:PORT/", Reason: unclear},
		{Name: "space before the host", URL: "http:// 127.0.0.1:PORT/", Reason: unclear},
		{Name: "NUL after the host", URL: "http://127.0.0.1\x00.good.example:PORT/", Reason: unclear},
		{Name: "NUL, escaped", URL: "http://127.0.0.1%00.good.example:PORT/", Reason: percent},
		{Name: "line break, escaped", URL: "http://127.0.0.1%0d%0a:PORT/", Reason: percent},
		{Name: "percent in the host", URL: "http://%31%32%37.0.0.1:PORT/", Reason: percent},
		{Name: "percent, twice", URL: "http://%2531%2532%2537.0.0.1:PORT/", Reason: percent},
		{Name: "soft hyphen", URL: "http://local\u00adhost:PORT/", Reason: unclear},
		{Name: "zero width space", URL: "http://127.0.0.1\u200b:PORT/", Reason: unclear},
		{Name: "right-to-left override", URL: "http://\u202e1.0.0.721:PORT/", Reason: unclear},
		{Name: "not UTF-8", URL: "http://127.0.0.1\xff:PORT/", Reason: "UTF-8"},
		{Name: "semicolon in the host", URL: "http://good.example;127.0.0.1:PORT/", Reason: name},
		{Name: "comma in the host", URL: "http://good.example,127.0.0.1:PORT/", Reason: name},
		{Name: "empty label", URL: "http://127.0.0.1..:PORT/", Reason: name},
		{Name: "label of Punycode that is none", URL: "http://xn--127.test:PORT/", Reason: name},
		{Name: "path that climbs", URL: "http://127.0.0.1:PORT/a/../b", Reason: segments, URLOnly: true},
		{Name: "path that climbs, escaped", URL: "http://127.0.0.1:PORT/a/%2e%2E/b", Reason: segments, URLOnly: true},
	}
}

// schemes lead past HTTP, or past its double slash.
func schemes() []Attack {
	var all []Attack
	for _, u := range []string{
		"file:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:PORT/_GET%20/", "ftp://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/stat", "ldap://127.0.0.1:PORT/",
		"ws://127.0.0.1:PORT/", "unix://run/docker.sock", "netdoc:///etc/passwd", "httpx://127.0.0.1:PORT/", "http+unix://run/docker.sock",
	} {
		all = append(all, Attack{Name: u, URL: u, Reason: scheme, URLOnly: true})
	}
	for _, u := range []string{
		"javascript:fetch('http://127.0.0.1:PORT/')", "data:text/html,http://127.0.0.1:PORT/", "view-source:http://127.0.0.1:PORT/", "jar:http://127.0.0.1:PORT/!/",
		"url:http://127.0.0.1:PORT/", "http:127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT", "/etc/passwd", "",
	} {
		all = append(all, Attack{Name: "not absolute: " + u, URL: u, Reason: absolute, URLOnly: true})
	}
	return append(all, Attack{Name: "three slashes", URL: "http:///127.0.0.1:PORT/", Reason: name, URLOnly: true})
}
