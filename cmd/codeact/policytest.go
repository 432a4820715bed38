package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy/policytest"
	"github.com/codeact-dev/codeact/policy/rules"
)

// A policyTest is one command to run tests of policies.
type policyTest struct {
	run               string
	verbose, coverage bool
	threshold         float64 // percent of rules that decided a case
	json              bool
}

func newPolicyTest(s *sys) *cobra.Command {
	var t policyTest
	c := &cobra.Command{
		Use:   "test PATH...",
		Short: "Run tests of policies",
		Long: "Run the cases of policy tests: files, or the *_test.yaml of directories. A case with fromTrace judges every\n" +
			"call of a trace again; one whose inputs the trace does not hold is unknown, which is no success.\n" +
			"Exit codes: 0 when all passed; 1 when one did not, or below --threshold; 2 when none matched, or with errors.",
		RunE: func(_ *cobra.Command, args []string) error { return t.test(s, args) },
	}
	c.Flags().StringVar(&t.run, "run", "", "only the cases whose name matches `RE`")
	c.Flags().BoolVarP(&t.verbose, "verbose", "v", false, "print every case, and how each was judged")
	c.Flags().BoolVar(&t.coverage, "coverage", false, "list how often each rule was evaluated and decided")
	c.Flags().Float64Var(&t.threshold, "threshold", 0, "the least `PERCENT` of the rules that must decide a case")
	c.Flags().BoolVar(&t.json, "json", false, "print JSON")
	return c
}

// A policyCase is a case that is ready to be judged.
type policyCase struct {
	policytest.Case
	policy *rules.Policy
	calls  []policytest.Recorded
}

func (t policyTest) test(s *sys, paths []string) error {
	if len(paths) == 0 {
		return usage(errors.New("give policy tests: files or directories"))
	}
	if t.threshold < 0 || t.threshold > 100 {
		return usage(fmt.Errorf("--threshold %v: want a percentage", t.threshold))
	}
	wanted, err := regexp.Compile(t.run)
	if err != nil {
		return usage(fmt.Errorf("--run: %w", err))
	}
	cases, policies, err := policyCases(paths, wanted)
	if err != nil {
		return usage(err)
	}
	if len(cases) == 0 {
		return usage(errors.New("no case matched"))
	}
	var results []policytest.Result
	var cover policytest.Coverage
	for _, p := range policies {
		cover.Add(p)
	}
	for _, c := range cases {
		r := c.judge()
		cover.Add(c.policy, r.Explanations...)
		results = append(results, r)
	}
	return t.report(s, results, &cover)
}

func (c policyCase) judge() policytest.Result {
	if c.Trace.Missing() {
		return c.Judge(c.policy)
	}
	return c.Replay(c.policy, c.calls)
}

// policyCases reads tests, what they name and nothing that is not wanted. It returns
// the faults of all files together.
func policyCases(paths []string, wanted *regexp.Regexp) ([]policyCase, []*rules.Policy, error) {
	files, err := filesOf(paths, "policy test (*_test.yaml, *_test.yml)", func(path string) bool { return isYAML(path) && isTest(path) })
	if err != nil {
		return nil, nil, err
	}
	var faults *multierror.Error
	var cases []policyCase
	var policies []*rules.Policy
	for _, f := range files {
		suite, err := policytest.Parse(f)
		if err != nil {
			faults = multierror.Append(faults, err)
			continue
		}
		p, err := suitePolicy(suite)
		if err != nil {
			faults = multierror.Append(faults, err)
			continue
		}
		policies = append(policies, p)
		for _, c := range suite.Cases {
			if !wanted.MatchString(c.Name) {
				continue
			}
			k := policyCase{Case: c, policy: p}
			if !c.Trace.Missing() {
				if k.calls, err = judgedCalls(beside(suite.File, c.Trace.S)); err != nil {
					faults = multierror.Append(faults, c.Trace.Fault(0, "%v", err))
				}
			}
			cases = append(cases, k)
		}
	}
	return cases, policies, faults.ErrorOrNil()
}

// beside is the path that a file names.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// suitePolicy compiles what a test names. What cannot be read is a fault of the line
// that names it.
func suitePolicy(suite *policytest.Suite) (*rules.Policy, error) {
	var faults *multierror.Error
	var files []rules.File
	for _, name := range suite.Policies {
		fs, err := policyFiles([]string{beside(suite.File, name.S)})
		if err != nil {
			faults = multierror.Append(faults, name.Fault(0, "%v", err))
		}
		files = append(files, fs...)
	}
	if err := faults.ErrorOrNil(); err != nil {
		return nil, err
	}
	return rules.Compile(suite.Params, files...)
}

func (t policyTest) report(s *sys, results []policytest.Result, cover *policytest.Coverage) error {
	n := map[policytest.Outcome]int{}
	for _, r := range results {
		n[r.Outcome]++
	}
	below := cover.Percent() < t.threshold
	if t.json {
		doc := map[string]any{"passed": n[policytest.Pass], "failed": n[policytest.Fail], "unknown": n[policytest.Unknown], "cases": results}
		if t.coverage || t.threshold > 0 {
			doc["coverage"] = map[string]any{"percent": cover.Percent(), "rules": cover.Rules()}
		}
		if err := writeJSON(s, doc); err != nil {
			return err
		}
	} else {
		t.print(s, results, cover)
		fmt.Fprintf(s.stdout, "%d passed, %d failed, %d unknown\n", n[policytest.Pass], n[policytest.Fail], n[policytest.Unknown])
		if below {
			fmt.Fprintf(s.stdout, "%.0f%% of the rules decided a case, fewer than %v%%\n", cover.Percent(), t.threshold)
		}
	}
	if below || n[policytest.Pass] < len(results) {
		return exitCode(exitFailed)
	}
	return nil
}

// maxWhy bounds a line of a report in bytes; a reason is seldom over 200.
const maxWhy = 1000

func (t policyTest) print(s *sys, results []policytest.Result, cover *policytest.Coverage) {
	words := map[policytest.Outcome]string{policytest.Pass: "ok", policytest.Fail: "FAIL", policytest.Unknown: "UNKNOWN"}
	for _, r := range results {
		if t.verbose || r.Outcome != policytest.Pass {
			fmt.Fprintf(s.stdout, "%-7s %s\n", words[r.Outcome], scan.Line(fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Name), maxWhy))
		}
		for _, why := range r.Why {
			fmt.Fprintf(s.stdout, "        %s\n", scan.Line(why, maxWhy))
		}
		if t.verbose {
			for _, x := range r.Explanations {
				printIndented(s, x.String())
			}
		}
	}
	if t.coverage || t.threshold > 0 {
		for _, k := range cover.Rules() {
			mark := ""
			if k.Decided == 0 {
				mark = "  never decided"
			}
			fmt.Fprintf(s.stdout, "%s: evaluated %d, decided %d%s\n", scan.Line(fmt.Sprintf("%s:%d: %s", k.File, k.Line, k.Policy), maxWhy), k.Evaluated, k.Decided, mark)
		}
		fmt.Fprintf(s.stdout, "coverage %.0f%% of %d rules\n", cover.Percent(), len(cover.Rules()))
	}
}

func printIndented(s *sys, text string) {
	for _, l := range slices.Collect(linesOf(text)) {
		fmt.Fprintf(s.stdout, "        %s\n", s.show(l))
	}
}
