package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
)

// maxSearchPage bounds an answer of the search server, in bytes: one page of
// results has some 50 KB.
const maxSearchPage = 2 << 20

// SearXNG is a server of the meta search engine SearXNG, asked through its JSON
// API (docs.searxng.org/dev/search_api.html).
type SearXNG struct{ base string }

// NewSearXNG takes the address of the server, as "https://search.example.com". It
// gives no leave to reach it: for a server on this machine or in its network, the
// operator allows its host and port.
func NewSearXNG(baseURL string) (*SearXNG, error) {
	if _, err := egress.ParseURL(baseURL); err != nil {
		return nil, fmt.Errorf("tools: the address of the search server: %w", err)
	}
	if strings.ContainsAny(baseURL, "?#") {
		return nil, errors.New("tools: the address of the search server ends with its path: leave out what begins with ? or #")
	}
	return &SearXNG{base: strings.TrimSuffix(strings.TrimRight(baseURL, "/"), "/search")}, nil
}

// Search asks for the first page of results.
func (s *SearXNG) Search(ctx context.Context, h *bridge.HTTP, query string) ([]Found, error) {
	u, err := egress.ParseURL(s.base + "/search?" + url.Values{"q": {query}, "format": {"json"}}.Encode())
	if err != nil {
		return nil, err
	}
	resp, err := h.Do(ctx, egress.Request{URL: u, Header: map[string]string{"Accept": "application/json"}, MaxBody: maxSearchPage})
	if err != nil {
		return nil, err
	}
	if err := answered(resp); err != nil {
		return nil, err
	}
	return parse(resp)
}

// answered says what a status other than 200 means with this server.
func answered(resp *egress.Response) error {
	switch {
	case resp.Status == 200:
		return nil
	case resp.Status == 403:
		return errors.New("the search server gives no JSON (403): its operator has to add json to search.formats in its settings.yml")
	case resp.Status == 429:
		return errors.New("the search server takes this program for a bot, or was asked too often (429): wait, or let its operator add our address to pass_ip in its limiter.toml")
	case resp.Location != "":
		return fmt.Errorf("the search server redirects (%d), which is not followed: the operator has to set tools.webSearch.baseUrl to where it leads, %s", resp.Status, resp.Location)
	}
	return fmt.Errorf("the search server answers with status %d: ask the operator whether tools.webSearch.baseUrl is a SearXNG server", resp.Status)
}

// parse reads results. A search that no engine answered is an error: it must not
// look as if there were nothing to find.
func parse(resp *egress.Response) ([]Found, error) {
	var page struct {
		Results []struct {
			URL     string `json:"url"`
			Title   string `json:"title"`
			Content string `json:"content"`
		} `json:"results"`
		Unresponsive [][]any `json:"unresponsive_engines"` // of each its name and why
	}
	if resp.Truncated {
		return nil, fmt.Errorf("the answer of the search server is longer than %d MiB", maxSearchPage>>20)
	}
	if err := json.Unmarshal(resp.Body, &page); err != nil {
		return nil, fmt.Errorf("the answer of the search server is no JSON of SearXNG (%v): ask the operator whether tools.webSearch.baseUrl is right", err)
	}
	if len(page.Results) == 0 && len(page.Unresponsive) > 0 {
		return nil, fmt.Errorf("no result, and these engines did not answer: %s; try again later", cut(fmt.Sprint(page.Unresponsive), maxSnippet))
	}
	found := make([]Found, len(page.Results))
	for i, r := range page.Results {
		found[i] = Found{Title: r.Title, URL: r.URL, Snippet: r.Content}
	}
	return found, nil
}
