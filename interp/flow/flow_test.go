package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

var testTools = []Tool{{"secret", nil}, {"fetch", []string{"url"}}, {"clock", nil}, {"send", []string{"body", "to"}}}

// letters spells a flow: S, F, C and E for calls of secret, fetch, clock and send, digits for blocks, ? for anything.
func letters(f Flow, tool map[CallRef]string) string {
	if !f.Proven {
		return "?"
	}
	out := map[string]bool{}
	for _, c := range f.Calls {
		for _, name := range strings.Fields(tool[c]) {
			out[map[string]string{"secret": "S", "fetch": "F", "clock": "C", "send": "E"}[name]] = true
		}
	}
	for _, b := range f.Blocks {
		out[fmt.Sprint(b)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(out)), "")
}

// sends spells the sites of send in the last of the blocks, one a line: line, body, to, control. A block "!" says that
// the one before it failed.
func sends(t *testing.T, limits Limits, blocks ...string) string {
	t.Helper()
	a := New(testTools, limits)
	tool := map[CallRef]string{}
	var lines []string
	for _, src := range blocks {
		if src == "!" {
			a.Failed()
			continue
		}
		r, err := a.Block(src)
		if err != nil {
			t.Fatal(err)
		}
		lines = nil
		for _, s := range r.Sites {
			tool[CallRef{a.n, s.Pos}] += " " + s.Tool
		}
		for _, s := range r.Sites {
			if s.Tool != "send" {
				continue
			}
			line := s.Pos[:strings.LastIndex(s.Pos, ":")] + " body=" + letters(s.Args["body"], tool)
			if to, ok := s.Args["to"]; ok {
				line += " to=" + letters(to, tool)
			}
			line += " if=" + letters(s.Control, tool)
			if s.InLoop {
				line += " loop"
			}
			lines = append(lines, strings.TrimPrefix(line, "block:"))
		}
	}
	return strings.Join(lines, "\n")
}

// deep calls a function from within as many as are inlined.
const deep = "def c(f):\n    return f()\ndef b(f):\n    return c(f)\ndef a(f):\n    return b(f)\n"

// A block's literals are 1 in the first block, and so is its control flow.
var flows = []struct{ name, src, want string }{
	// The programs of the first prototype.
	{"direct", "s = secret()\nsend(s)", "2 body=S if=1"},
	{"implicit if", "s = secret()\nif s[0] == \"a\":\n    send(\"1\")", "3 body=1 if=1S"},
	{"both branches", "s = secret()\nx = \"0\"\nif s[0] == \"a\":\n    x = \"1\"\nsend(x)", "5 body=1S if=1"},
	{"independent", "s = secret()\nt = clock()\nsend(\"now \" + str(t))\nn = len(s)", "3 body=1C if=1"},
	{"overwritten", "x = secret()\nx = \"public\"\nsend(x)", "3 body=1 if=1"},
	{"format and len", "s = secret()\nm = \"{} of {}\".format(len(s), 3)\nsend(sorted([m, \"a\"]))", "3 body=1S if=1"},
	{"alias and append", "l = []\nm = l\nl.append(secret())\nsend(m)", "4 body=1S if=1"},
	{"dict key and comprehension", "d = {}\nfor r in fetch(\"u\"):\n    d[r[\"k\"]] = 1\nsend([k for k in d])", "4 body=1F if=1"},
	{"function", "def f(x, y = 1):\n    if y:\n        return x.strip()\n    return \"no\"\na = f(secret())\nb = f(\"pub\")\nsend(b)",
		"7 body=1 if=1"},
	{"break", "s = secret()\nn = 0\nfor i in range(100):\n    n = i\n    if s[i] == \"x\":\n        break\nsend(n)", "7 body=1S if=1"},
	{"loop carried", "a = \"0\"\nb = \"0\"\nfor i in range(3):\n    send(a)\n    a = b\n    b = secret()", "4 body=1S if=1 loop"},
	{"early fail", "s = secret()\nif s == \"a\":\n    fail(\"x\")\nsend(\"alive\")", "4 body=1 if=1S"},
	{"tool alias", "f = send\nf(secret())", ""},
	{"higher order", "def g(x):\n    return send(x)\nh = g\nh(secret())\nsend(\"ok\")", "2 body=S if=1\n5 body=1 if=1"},
	{"unrelated container", "rows = fetch(\"u\")\nout = []\nfor r in rows:\n    out.append(r)\npub = [\"a\"]\nsend(pub)", "6 body=1 if=1"},
	{"an index error is not a flow", "s = secret()\nx = s[5]\nsend(\"alive\")", "3 body=1 if=1"},

	// Arguments.
	{"keyword", "send(to=secret(), body=\"x\")", "1 body=1 to=S if=1"},
	{"star", "send(*[secret(), \"a\"])", "1 body=1S to=1S if=1"},
	{"star star", "send(**{\"body\": secret()})", "1 body=1S to=1S if=1"},
	{"a result carries its arguments", "send(fetch(secret()))", "1 body=FS if=1"},
	{"a result carries its control", "s = secret()\nr = 0\nif s:\n    r = clock()\nsend(r)", "5 body=1CS if=1"},
	{"a result carries the control of its call", "if secret():\n    send(clock())", "2 body=CS if=1S"},
	{"conditional expression", "send(\"a\" if secret() else \"b\")", "1 body=1S if=1"},
	{"or", "send(clock() or secret())", "1 body=CS if=1"},
	{"and guards a call", "secret() and send(1)", "1 body=1 if=1S"},
	{"multiplied list", "l = [clock()] * 2\nl.append(secret())\nsend(l)", "3 body=1CS if=1"},
	{"text of both is a scalar", "a = clock()\nb = \"x\" + secret()\nsend(a)\nsend(b)", "3 body=C if=1\n4 body=1S if=1"},
	{"swap", "a, b = clock(), secret()\na, b = b, a\nsend(a, b)", "3 body=S to=C if=1"},
	{"unpacking mixes", "p = (clock(), secret())\na, b = p\nsend(a)", "3 body=1CS if=1"},
	{"list target", "[a, (b)] = secret()\nsend(b)", "2 body=S if=1"},
	{"slice", "x = clock()\nsend(x[1:len(secret())])", "2 body=1CS if=1"},
	{"too many arguments", "send(1, clock(), secret())", "1 body=1 to=C if=1"},
	{"text times a number", "send(\"a\" * len(secret()))", "1 body=1S if=1"},
	{"slice step", "send(secret()[::2])", "1 body=1S if=1"},
	{"unary", "send(-secret())\nsend(not clock())", "1 body=S if=1\n2 body=C if=1"},

	// Containers and aliases.
	{"what was put into what is put in", "b = {}\na = []\na.append(secret())\nb[\"k\"] = a\nsend(b)", "5 body=1S if=1"},
	{"a tool that is put in", "l = []\nl.append(secret)\nsend(l[0]())", "3 body=? if=1"},
	{"the length of a comprehension", "send([1 for x in secret()])", "1 body=1S if=1"},
	{"nested container", "d = {\"k\": []}\nd[\"k\"].append(secret())\nsend(d)", "3 body=1S if=1"},
	{"alias through a list", "a = []\nl = [a]\nl[0].append(secret())\nsend(a)", "4 body=1S if=1"},
	{"which object is mutated", "a = []\nb = []\nx = a if secret() else b\nx.append(1)\nsend(a)", "5 body=1S if=1"},
	{"plus equals mutates", "a = []\nb = a\nb += [secret()]\nsend(a)", "4 body=1S if=1"},
	{"plus equals under a condition", "n = 0\nif secret():\n    n += 1\nsend(n)", "4 body=1S if=1"},
	{"extend by a range keeps the alias", "a = []\nb = a\nb += range(3)\nb.append(secret())\nsend(a)", "5 body=1S if=1"},
	{"item plus equals", "d = {\"n\": 0}\ne = d\ne[\"n\"] += len(secret())\nsend(d)", "4 body=1S if=1"},
	{"pop is a mutation", "l = [1, 2]\nif secret():\n    l.pop()\nsend(len(l))", "4 body=1S if=1"},
	{"clear is a mutation", "l = [1, 2]\nif secret():\n    l.clear()\nsend(len(l))", "4 body=1S if=1"},
	{"setdefault", "d = {}\nd.setdefault(\"k\", []).append(secret())\nsend(d)", "3 body=1S if=1"},
	{"get with a default alias", "a = []\nd = {}\nd.get(\"k\", a).append(secret())\nsend(a)", "4 body=1S if=1"},
	{"values share", "a = []\nd = {\"k\": a}\nfor v in d.values():\n    v.append(secret())\nsend(a)", "5 body=1S if=1"},
	{"sorted shares elements", "a = []\nfor v in sorted([a]):\n    v.append(secret())\nsend(a)", "4 body=1S if=1"},
	{"struct field", "r = struct(a=secret(), b=1)\nsend(r.b)", "2 body=1S if=1"},
	{"bound method", "l = []\nf = l.append\nf(secret())\nsend(l)", "4 body=1S if=1"},
	{"bound string method", "f = \",\".join\nsend(f(secret()))", "2 body=1S if=1"},
	{"getattr", "l = []\ngetattr(l, \"append\")(secret())\nsend(l)", "3 body=1S if=1"},
	{"getattr by another name", "g = getattr\nl = []\ng(l, \"append\")(secret())\nsend(l)", "4 body=1S if=1"},
	{"field assignment", "r = struct(a=[])\nr.a = secret()\nsend(r)", "3 body=1S if=1"},
	{"field plus equals", "r = struct(a=[])\nr.a += secret()\nsend(r)", "3 body=1S if=1"},
	{"dict union", "d = {}\nd |= {\"k\": secret()}\nsend(d)", "3 body=1S if=1"},
	{"an early alias sees a late write", "a = []\ndef get():\n    return a\nb = get()\na.append(secret())\nsend(b)", "6 body=1S if=1"},
	{"methods that give scalars", "s = secret()\nc = clock()\nsend(c.strip().upper())", "3 body=C if=1"},
	{"split", "send(secret().split(\",\")[0])", "1 body=1S if=1"},
	{"dir", "send(dir(secret()))", "1 body=S if=1"},
	{"json", "send(json.decode(json.encode(secret())))", "1 body=S if=1"},
	{"json by another name", "j = json\ne = j.encode\nsend(e(secret()))", "3 body=S if=1"},
	{"math", "send(math.floor(secret()))", "1 body=S if=1"},

	// Control flow.
	{"while", "x = clock()\nn = 0\nwhile x:\n    n += 1\n    x = secret()\nsend(n)", "6 body=1CS if=1"},
	{"call in a while condition", "x = 1\nwhile send(x):\n    x = secret()", "2 body=1ES if=1ES loop"},
	{"continue", "s = secret()\nn = 0\nfor i in range(9):\n    if s[i]:\n        continue\n    n += 1\nsend(n)", "7 body=1S if=1"},
	{"a break keeps the value of its path", "x = clock()\nfor i in range(3):\n    if i:\n        break\n    x = 1\nsend(x)", "6 body=1C if=1"},
	{"a continue keeps the value of its path", "x = 0\nfor i in range(3):\n    if i:\n        x = secret()\n        continue\n    x = 1\nsend(x)", "7 body=1S if=1"},
	{"the alias of the path of a break", "a = []\nb = []\nfor i in range(3):\n    x = a\n    if i:\n        break\n    x = b\nx.append(secret())\nsend(a)",
		"9 body=1S if=1"},
	{"the alias of the path of a continue", "a = []\nx = []\nfor i in range(3):\n    x.append(secret())\n    if i:\n        x = a\n        continue\n    x = []\nsend(a)",
		"9 body=1S if=1"},
	{"after the loop control is clean", "for i in secret():\n    if i:\n        break\nsend(1)", "4 body=1 if=1"},
	{"a break taints the next round", "s = secret()\nfor i in range(3):\n    send(i)\n    if s[i]:\n        break", "3 body=1S if=1S loop"},
	{"outer break, inner loop", "s = secret()\nfor i in range(3):\n    if s:\n        break\n    for j in range(2):\n        send(j)",
		"6 body=1S if=1S loop"},
	{"return", "s = secret()\ndef f():\n    if s:\n        return 1\n    send(2)\nf()\nsend(3)", "5 body=1 if=1S\n7 body=1 if=1"},
	{"result of a return under a condition", "s = secret()\ndef f():\n    if s:\n        return 1\n    return 2\nsend(f())", "6 body=1S if=1"},
	{"falling off the end", "s = secret()\ndef f():\n    if s:\n        return 1\nsend(f())", "5 body=1S if=1"},
	{"return inside a loop", "s = secret()\ndef f():\n    for i in range(3):\n        send(i)\n        if s:\n            return i\nf()",
		"4 body=1S if=1S loop"},
	{"final", "if secret():\n    final(1)\nsend(2)", "3 body=1 if=1S"},
	{"attempt(final)", "if secret():\n    attempt(final, value=1)\nsend(2)", "3 body=1 if=1S"},
	{"final by another name", "f = final\nf(1)\nsend(2)", "3 body=1 if=?"},
	{"fail within a call's arguments", "def f(x):\n    if x:\n        fail(\"no\")\nsend([f(secret()), 1])", "4 body=1 if=1S"},
	{"fail in a function", "def f(x):\n    if x:\n        fail(\"no\")\nf(secret())\nsend(1)", "5 body=1 if=1S"},
	{"comprehension condition", "[send(x) for x in range(3) if secret()]", "1 body=1 if=1S loop"},
	{"dict comprehension", "send({k: 1 for k in secret()})", "1 body=1S if=1"},
	{"comprehension over clean rows", "s = secret()\n[send(x) for x in fetch(\"u\")]", "2 body=1F if=1F loop"},
	{"elif", "s = secret()\nif clock():\n    pass\nelif s:\n    send(1)\nelse:\n    send(2)", "5 body=1 if=1CS\n7 body=1 if=1CS"},

	// Functions.
	{"default", "x = secret()\ndef f(y=x):\n    return y\nsend(f())", "4 body=S if=1"},
	{"default mutated", "def f(x, l=[]):\n    l.append(x)\n    return l\nf(secret())\nsend(f(1))", "5 body=1S if=1"},
	{"varargs", "def f(a, *b, **c):\n    return c\nsend(f(1, secret(), k=clock()))", "3 body=1CS if=1"},
	{"keyword only", "def f(*, a, b=2):\n    return b\nsend(f(a=secret()))", "3 body=1 if=1"},
	{"star call", "def f(a, b):\n    return b\nsend(f(*[1, secret()]))", "3 body=1S if=1"},
	{"which function", "f = (lambda: 1) if secret() else (lambda: 2)\nsend(f())", "2 body=1S if=1"},
	{"a call in a lambda", "f = lambda x: send(x)\nf(secret())", "1 body=S if=1"},
	{"key function", "send(sorted(fetch(\"u\"), key=lambda r: r[\"d\"]))", "1 body=1F if=1"},
	{"key function that calls", "sorted(secret(), key=lambda r: send(1))", "1 body=1 if=1S loop"},
	{"the key orders the result", "send(sorted([1, 2], key=lambda r: secret()))", "1 body=1S if=1"},
	{"sorted by another name", "f = sorted\nf(secret(), key=lambda r: send(1))", "2 body=1 if=1S loop"},
	{"a tool as key", "max([secret()], key=send)\nsend(1)", "2 body=1 if=1"},
	{"nested def", "def f(x):\n    def g():\n        return x\n    return g\nsend(f(secret())())", "5 body=S if=1"},
	{"cell written later", "def f():\n    x = 1\n    g = lambda: x\n    x = secret()\n    return g()\nsend(f())", "6 body=1S if=1"},
	{"cell under a condition", "def f():\n    x = 1\n    g = lambda: x\n    if secret():\n        x = 2\n    return g()\nsend(f())", "7 body=1S if=1"},
	{"two levels of cells", "def f(x):\n    return lambda: lambda: x\nsend(f(secret())()())", "3 body=S if=1"},
	{"closures of a loop", "fs = []\nfor x in [1, secret()]:\n    fs.append(lambda y=x: y)\nsend(fs[0]())", "4 body=1S if=1"},
	{"a default of a later round", "fs = []\nx = 1\nfor i in range(3):\n    if fs:\n        send(fs[0]())\n    fs.append(lambda y=x: y)\n    x = secret()",
		"5 body=1S if=1 loop"},
	{"the same function twice", "def f(x):\n    return x\nfs = [f, f]\nfs.append(f)\nsend(fs[0](secret()))", "5 body=1S if=1"},
	{"captured comprehension variable", "fs = [lambda: x for x in secret()]\nsend(fs[0]())", "2 body=1S if=1"},
	{"function in a dict", "d = {\"f\": lambda x: send(x)}\nd[\"f\"](secret())", "1 body=1S if=1"},
	{"function in a struct", "r = struct(f=lambda x: send(x))\nr.f(secret())", "1 body=1S if=1"},
	{"tool in a struct", "r = struct(f=send)\nr.f(secret())\nsend(1)", "3 body=1 if=1"},
	{"the result of an alias is unproven", "f = secret\nsend(f())", "2 body=? if=1"},
	{"tool returned", "def f():\n    return send\nf()(secret())", ""},
	{"tool in a list", "for t in [send, clock]:\n    t()", ""},
	{"recursion is an error", "def f(x):\n    return f(x)\nsend(f(secret()))", "3 body= if=1"},
	{"a global at the time of the call", "x = 1\ndef f():\n    return x\na = f()\nx = secret()\nsend(a)\nsend(f())", "6 body=1 if=1\n7 body=S if=1"},
	{"a parameter named as a tool", "def f(send):\n    return send(1)\nf(lambda x: x)\nsend(2)", "4 body=1 if=1"},
	{"parentheses", "(send)((secret()))", "1 body=S if=1"},
	{"call of a result", "secret()(1)\nsend(2)", "2 body=1 if=1"},

	// Functions deep in others are summarised.
	{"summary: a global that changed", deep + "def f():\n    return x\nx = 1\na(f)\nx = secret()\nsend(a(f))", "12 body=1S if=1"},
	{"summary: a container that changed", deep + "l = []\ndef f():\n    return len(l)\na(f)\nl.append(secret())\nsend(a(f))", "12 body=1S if=1"},
	{"summary: another control flow", deep + "def f():\n    send(1)\na(f)\nif secret():\n    a(f)", "8 body=1 if=1S"},
	{"summary: another argument", deep + "def f(x=1):\n    send(x)\na(f)\na(lambda: f(secret()))", "8 body=1S if=1"},
	{"summary: in a loop only later", deep + "def f():\n    send(1)\na(f)\nfor i in range(2):\n    a(f)", "8 body=1 if=1 loop"},
	{"summary: made while its callee was running", deep + "def f(n=1):\n    if n:\n        g(0)\n    return secret()\ndef g(n=0):\n    return f(n)\na(f)\nsend(a(g))",
		"14 body=1S if=1"},

	// attempt and parallel.
	{"attempt is a call", "r = attempt(send, body=secret())", "1 body=S if=1"},
	{"attempt's ok is a flow", "r = attempt(secret)\nif r.ok:\n    send(1)", "3 body=1 if=1S"},
	{"attempt's error is a flow", "send(attempt(secret).error)", "1 body=S if=1"},
	{"attempt of a variable", "t = secret\nr = attempt(t)\nsend(r)", "3 body=? if=?"},
	{"attempt of nothing", "attempt()\nsend(1)", "2 body=1 if=?"},
	{"parallel is a call of each", "parallel([(send, {\"body\": secret()}), (send, {\"body\": 1, \"to\": clock()})])\nsend(3)",
		"1 body=1S to=C if=1\n2 body=1 if=1"},
	{"parallel's results", "r = parallel([(secret, {}), (clock, {})])\nsend(r[1].value)", "2 body=1CS if=1"},
	{"parallel of a comprehension", "parallel([(send, {\"body\": x}) for x in secret()])", "1 body=S if=1S loop"},
	{"a later member fails first", "def f(x):\n    if x:\n        fail(\"\")\nparallel([(send, {\"body\": 1}), (clock, {\"a\": f(secret())})])",
		"4 body=1 if=1S"},
	{"parallel of what is no pair", "parallel([1])\nsend(1)", "2 body=1 if=?"},
	{"parallel with arguments by name", "a = {}\nparallel([(send, a)])\nsend(1)", "3 body=1 if=?"},
	{"parallel with a computed parameter", "parallel([(send, {str(1): 1})])\nsend(1)", "2 body=1 if=?"},
	{"parallel of a dict", "parallel({send: {} for x in [1]})\nsend(1)", "2 body=1 if=?"},
	{"parallel of a lambda", "parallel([(lambda: 1, {})])\nsend(1)", "2 body=1 if=?"},
	{"parallel of a variable", "l = [(send, {\"body\": 1})]\nparallel(l)\nsend(1)", "3 body=1 if=?"},
}

func TestFlows(t *testing.T) {
	for _, c := range flows {
		t.Run(c.name, func(t *testing.T) {
			if got := sends(t, Limits{}, c.src); got != c.want {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.src, got, c.want)
			}
		})
	}
}

// TestPositions holds that a site has the position that the interpreter reports, also in functions of earlier blocks.
func TestPositions(t *testing.T) {
	for _, c := range flows {
		m := newMachine(testTools, func(string, string) starlark.Value { return starlark.String("abcdefghi") })
		a := New(testTools, Limits{})
		r, err := a.Block(c.src)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.block(c.src) // an error at run time leaves the calls before it
		unproven := map[string]bool{"tool alias": true, "a tool as key": true, "the result of an alias is unproven": true,
			"tool returned": true, "tool in a list": true, "tool in a struct": true, "a tool that is put in": true, "attempt of a variable": true,
			"parallel of a variable": true, "parallel with arguments by name": true}
		for _, call := range m.calls {
			known := slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Pos == call.Pos && s.Tool == call.Tool })
			if !known && !unproven[c.name] {
				t.Errorf("%s: call of %s at %q has no site in %+v", c.name, call.Tool, call.Pos, r.Sites)
			}
		}
	}
}
