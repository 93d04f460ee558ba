// A server on Go's net/http, with one trivial handler that tells how it was reached. encoding/json takes members whose
// names differ in case for each other.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

const tools = `{"tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`

// How often a handler ran. The gateway's own listings do not count.
var mcp, admin int64

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Region string `json:"region"`
		} `json:"arguments"`
	} `json:"params"`
}

func handler(name string, runs *int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Handler", name)
		if m.Method == "tools/list" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, tools)
			return
		}
		atomic.AddInt64(runs, 1)
		seen := map[string]string{
			"handler": name, "method": r.Method, "rpc": m.Method, "name": m.Params.Name,
			"region": m.Params.Arguments.Region, "mcp-name": r.Header.Get("Mcp-Name"),
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": seen})
	}
}

func main() {
	http.HandleFunc("/mcp", handler("mcp", &mcp))
	http.HandleFunc("/admin", handler("admin", &admin))
	http.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Handler", "count")
		_ = json.NewEncoder(w).Encode(map[string]int64{"mcp": atomic.LoadInt64(&mcp), "admin": atomic.LoadInt64(&admin)})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	_ = http.Serve(listener, nil)
}
