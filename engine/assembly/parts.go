package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/workspace"
	"github.com/codeact-dev/codeact/engine/models"
	"github.com/codeact-dev/codeact/engine/store"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/interp"
	"github.com/codeact-dev/codeact/policy/defaults"
	"github.com/codeact-dev/codeact/policy/rules"
)

// prepare is everything that needs no server of the task. It returns the secrets.
func (r *Run) prepare(ctx context.Context) (secrets map[string]string, err error) {
	if err := r.options(); err != nil {
		return nil, err
	}
	if err := r.vouch(); err != nil && !r.opt.Look {
		return nil, err
	}
	if r.dir, err = r.workspaceDir(); err != nil {
		return nil, err
	}
	if r.Policy, err = r.policies(); err != nil {
		return nil, err
	}
	if err := r.keep(); err != nil {
		return nil, err
	}
	if err := r.openBox(ctx); err != nil {
		return nil, err
	}
	if _, _, err := r.grants(); err != nil {
		return nil, err
	}
	if secrets, err = r.secrets(ctx); err != nil {
		return nil, err
	}
	if err := r.hide(secrets); err != nil || r.opt.Look {
		return secrets, err
	}
	if r.Task, err = r.task(); err != nil {
		return nil, err
	}
	if err := r.inbound(); err != nil {
		return nil, err
	}
	// One run needs one worker; a spare one would double its memory.
	r.interp, err = interp.New(interp.Config{Worker: r.opt.Worker, Unsafe: r.opt.Unsafe, Require: r.confinement(), NoSpare: true})
	return secrets, err
}

// keep is who writes the code and where the run is kept. Who only looks needs neither.
func (r *Run) keep() (err error) {
	if r.opt.Look {
		return nil
	}
	if r.Model = (nobody{}); r.opt.Send == "" {
		if r.Model, err = r.model(); err != nil {
			return err
		}
	}
	if r.Store, err = store.Open(r.traceDir()); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return r.look()
}

// policies compiles the rules that ship with codeact, and those of the home, of the
// task and of the caller. There is never a part of them: one bad rule refuses all.
func (r *Run) policies() (*rules.Policy, error) {
	files := []rules.File{defaults.File()}
	var faults []error
	for _, path := range slices.Concat(r.Home.Policies, r.File.Policies, r.opt.Policies) {
		data, err := os.ReadFile(path)
		if err != nil {
			faults = append(faults, fmt.Errorf("policy: %w", err))
			continue
		}
		files = append(files, rules.File{Name: path, Data: data})
	}
	if err := strictyaml.Join(faults...); err != nil {
		return nil, err
	}
	return rules.Compile(r.File.PolicyParams, files...)
}

// grants is the tools of the task, and the hooks of their calls.
func (r *Run) grants() ([]bridge.Tool, []bridge.Hook, error) {
	ts, err := r.tools()
	if err != nil {
		return nil, nil, err
	}
	hs, err := r.hooks(ts)
	if err != nil {
		return nil, nil, err
	}
	return ts, hs, r.unboxed(ts)
}

// bridge builds the adapter with every control that the files ask for.
func (r *Run) bridge(secrets map[string]string) (*bridge.EffectBridgeAdapter, error) {
	f := r.File
	ts, hs, err := r.grants()
	if err != nil {
		return nil, err
	}
	r.Tools = ts
	client, err := egress.New(egress.Config{AllowPrivate: f.Security.PrivateIPs, Allow: r.Home.Security.AllowPrivate, AllowedDomains: f.Security.AllowedDomains})
	if err != nil {
		return nil, err
	}
	return bridge.New(bridge.Config{Box: r.box, Tools: ts, Policy: r.Policy, Security: f.Security.Rules(), Hooks: hs, Approver: r.approver(), HTTP: client,
		Secrets: lookup(secrets), Redactor: r.hider, KeepSecrets: f.Security.ScanOutputs.Secrets == "off",
		BlockSecrets: f.Security.ScanOutputs.Secrets == "block", Injection: injection[f.Security.ScanOutputs.Injection], Unmarked: f.Security.Unmarked,
		Rate: bridge.Rate{N: f.Tools.CallRate.Calls, Per: f.Tools.CallRate.Per}, MaxCalls: int(f.Limits.CallsPerStep), MaxOutput: int(f.Limits.OutputBytesPerCall), ApprovalTTL: f.Approvals.Timeout,
		TaskTrusted: r.trusted(), TaskDigest: f.Digest(), Now: r.opt.Now})
}

// hide makes the redactor of all that the run must not show.
func (r *Run) hide(secrets map[string]string) error {
	known, err := r.known(secrets)
	if err != nil {
		return err
	}
	r.hider, err = redact.New(redact.Config{Secrets: known, Patterns: r.File.Redact.Patterns})
	return err
}

var injection = map[string]bridge.InjectionMode{"off": bridge.InjectionOff, "warn": bridge.InjectionWarn, "block": bridge.InjectionBlock}

func lookup(secrets map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		v, ok := secrets[name]
		if !ok {
			return "", fmt.Errorf("no secret %s is declared in the task", name)
		}
		return v, nil
	}
}

func (r *Run) env(name string) (string, bool) {
	if r.opt.Env == nil {
		return "", false
	}
	return r.opt.Env(name)
}

// protected is the files of this run that it may not change. The default workspace
// is the run's own, although it lies inside the home.
func (r *Run) protected() []string {
	var list []string
	if r.File.Workspace.Dir != "" || r.opt.Workspace != "" {
		list = append(list, r.opt.Home)
	}
	if r.File.Path != "-" {
		list = append(list, r.path)
	}
	for _, f := range r.File.Files {
		list = append(list, filepath.Join(r.File.Dir, filepath.FromSlash(f.Path)))
	}
	for _, f := range r.Home.Files {
		list = append(list, filepath.Join(r.opt.Home, filepath.FromSlash(f.Path)))
	}
	return append(list, r.opt.Policies...)
}

// space opens the files of a run, with a spill directory of its own.
func (r *Run) space(runID string) (*workspace.Space, error) {
	cfg := r.files(runID)
	s, _, err := workspace.Open(cfg)
	if err == nil {
		r.current.Store(s)
	}
	return s, err
}

// files is what a run may see and change.
func (r *Run) files(runID string) workspace.Config {
	w := r.File.Workspace
	cfg := workspace.Config{Dir: r.dir, Writable: w.Writable, ReadDeny: w.ReadDeny, Untrusted: w.Untrusted, Protected: r.protected(),
		SpillDir: filepath.Join(r.opt.Home, "spill", runID)}
	for _, x := range w.Read {
		cfg.Read = append(cfg.Read, workspace.Extra{Name: x.As, Path: x.Path})
	}
	return cfg
}

// look opens the files once before anything is done, so that what is wrong with
// them, and what is missing, is said at the start.
func (r *Run) look() error {
	s, warnings, err := workspace.Open(r.files("look"))
	if err != nil {
		return err
	}
	r.Warnings = append(r.Warnings, warnings...)
	if r.File.Output.File != "" {
		out, _, err := r.outputTarget()
		if err != nil {
			return errors.Join(err, s.Close())
		}
		defer out.Close()
	}
	return s.Close()
}

// model builds who writes the code: the caller's choice, else the task's.
func (r *Run) model() (models.Model, error) {
	m := r.File.Model
	if r.opt.Model != "" {
		provider, name, ok := strings.Cut(r.opt.Model, "/")
		if !ok || name == "" {
			return nil, fmt.Errorf("model %q: want provider/name[@baseURL], as anthropic/claude-sonnet-5", r.opt.Model)
		}
		if provider != models.Anthropic && provider != models.OpenAICompatible && provider != "scripted" {
			return nil, fmt.Errorf("model %q: there is no provider %q: want %s, %s or scripted", r.opt.Model, provider, models.Anthropic, models.OpenAICompatible)
		}
		name, base, _ := strings.Cut(name, "@")
		m = taskfile.Model{Provider: provider, Name: name, BaseURL: base}
		if provider == r.File.Model.Provider {
			m.Prices = r.File.Model.Prices
			if r.trusted() {
				m.APIKeyEnv = r.File.Model.APIKeyEnv
			}
		}
	}
	switch m.Provider {
	case "":
		return nil, r.File.Fault("$.model", "no model is named: give model.provider and model.name, or --model provider/name")
	case "scripted":
		if m.Script == nil {
			return nil, errors.New("model scripted needs a script: give model.script in the task")
		}
		return models.NewScripted(steps(m.Script)), nil
	}
	return r.live(m)
}

func (r *Run) live(m taskfile.Model) (models.Model, error) {
	cfg := models.Config{Provider: m.Provider, Name: m.Name, BaseURL: m.BaseURL}
	if p := m.Prices; p != nil {
		cfg.Prices = &models.Prices{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput}
	}
	r.Server = m.BaseURL
	own := models.DefaultKeyEnv(m.Provider, m.BaseURL)
	variable := cmp.Or(m.APIKeyEnv, own)
	// What a run reads goes to its model, with a key. Whose server that is must be the
	// person's choice: a provider's own, one that he typed, one of a task that he
	// trusts, or one on this machine.
	if r.opt.Model == "" && m.BaseURL != "" && !models.Local(cfg) && !r.trusted() && (variable != own || own == "") {
		return nil, fmt.Errorf("%w: %s sends all that the run reads, and its key (%s), to %s, which only a trusted task may choose; to trust it, give --trust %s",
			ErrPrecondition, r.File.Path, cmp.Or(variable, "no variable"), m.BaseURL, r.File.Digest())
	}
	if variable != "" {
		cfg.Key, _ = r.env(variable)
	}
	if cfg.Key == "" && !models.KeyOptional(cfg) {
		if variable == "" && r.opt.Model != "" {
			return nil, fmt.Errorf("model %q: no variable is known to hold the key of this server: name it in the task's model, with apiKeyEnv", r.opt.Model)
		}
		if variable == "" {
			return nil, r.File.Fault("$.model.baseUrl", "no variable is known to hold the key of this server: give model.apiKeyEnv")
		}
		return nil, fmt.Errorf("%w: model %s/%s needs a key: set the environment variable %s", ErrCredential, m.Provider, m.Name, variable)
	}
	if r.File.Limits.CostUSD > 0 && m.Prices == nil {
		return nil, r.File.Fault("$.limits.costUsd", "the price of %s is not known here, so the limit could not hold: give model.prices", m.Name)
	}
	return models.New(cfg)
}

func steps(s *taskfile.Script) []models.Step {
	list := make([]models.Step, len(s.Steps))
	for i, x := range s.Steps {
		list[i] = models.Step{Text: x.Text, Code: x.Code, ExpectContains: x.Expect.Contains, ExpectTaint: x.Expect.Taint, Input: x.Usage.Input, Output: x.Usage.Output}
	}
	return list
}
