// Much of Go's standard library in one program: HTTP with TLS, JSON, templates, regular expressions.
package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
)

type row struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

var page = template.Must(template.New("page").Parse(`{{range .}}<p>{{.Name}} {{.Value}}</p>{{end}}`))

func answer(w http.ResponseWriter, r *http.Request) {
	packed := gzip.NewWriter(w)
	defer packed.Close()
	rows := []row{{r.URL.Path, 1}, {r.Host, 2}}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	if err := json.NewEncoder(packed).Encode(rows); err != nil {
		panic(err)
	}
	if err := page.Execute(packed, rows); err != nil {
		panic(err)
	}
}

func main() {
	server := httptest.NewTLSServer(http.HandlerFunc(answer))
	defer server.Close()
	var waiting sync.WaitGroup
	for turn := range 4 {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			reply, err := server.Client().Get(fmt.Sprintf("%s/%d", server.URL, turn))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			defer reply.Body.Close()
			body, _ := io.ReadAll(reply.Body)
			words := regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(string(body)), -1)
			fmt.Println(len(words))
		}()
	}
	waiting.Wait()
}
