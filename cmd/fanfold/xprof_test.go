package main
import ("testing";"context";"fmt";"time";"strings";"io";"net/http";"sync";"sync/atomic";"os";"github.com/fanfold/fanfold/internal/node")
func rss() string { b,_:=os.ReadFile("/proc/self/status"); for _,l:=range strings.Split(string(b),"\n") { if strings.HasPrefix(l,"VmHWM")||strings.HasPrefix(l,"VmRSS") { return string(l) } }; return "" }
func hwm() string { b,_:=os.ReadFile("/proc/self/status"); s:=""; for _,l:=range strings.Split(string(b),"\n") { if strings.HasPrefix(l,"VmHWM")||strings.HasPrefix(l,"VmRSS") { s+=l+" " } }; return s }
func TestXMillion(t *testing.T){ ctx:=context.Background(); dir:=t.TempDir()
 b:=time.Now()
 if err:=fill(ctx, dir, benchModel, 1000, 1000000, func(i int) int { return 0 }); err!=nil { t.Fatal(err) }
 fmt.Println("filled", time.Since(b))
 b=time.Now()
 if err:=offline(ctx, dir, func(ctx context.Context, n *node.Node) error { fmt.Println("folded", time.Since(b), hwm()); return nil }); err!=nil { t.Fatal(err) }
 os.Setenv("XDIR", dir)
 fmt.Println(dir)
 // a fresh process would start here; reset the high-water mark
 os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o644)
 fmt.Println("reset", hwm())
 err:=offline(ctx, dir, func(ctx context.Context, n *node.Node) error {
  c := &client{server: n.URL()}
  for _, conns := range []int{1, 16} {
  reads := func(stop *atomic.Bool) (float64) { var total atomic.Int64; var wg sync.WaitGroup; b:=time.Now()
   for w := range conns { wg.Go(func(){ h:=&http.Client{Transport:&http.Transport{}}; for i:=w; !stop.Load(); i++ { r,err:=h.Get(fmt.Sprintf("%s/v1/books/%d", n.URL(), i*7919%1000000)); if err!=nil {return}; io.Copy(io.Discard,r.Body); r.Body.Close(); total.Add(1) } }) }
   wg.Wait(); return float64(total.Load())/time.Since(b).Seconds() }
  var stop atomic.Bool
  go func(){ time.Sleep(3*time.Second); stop.Store(true) }()
  idle := reads(&stop)
  var stop2 atomic.Bool
  var took time.Duration
  go func(){ b:=time.Now(); resp, err := c.do(ctx, "PATCH", "/v1/authors/0", strings.NewReader(fmt.Sprintf(`{"firstName":"X%d"}`, conns)), header{"Content-Type": "application/merge-patch+json", "Fanfold-Timeout": "60"}); if err==nil { fmt.Println(resp.Status, resp.Header.Get("Fanfold-Derived-Changes")); resp.Body.Close() } else { fmt.Println(err) }; took=time.Since(b); stop2.Store(true) }()
  during := reads(&stop2)
  fmt.Println(conns, "idle", idle, "during", during, "ratio", during/idle, "took", took, hwm())
  }
  return nil })
 fmt.Println(err) }
