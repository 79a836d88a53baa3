package main
import ("testing";"context";"fmt")
func TestXReplay(t *testing.T){ r,err:=benchReplay(context.Background(), t.TempDir(), 1); fmt.Println(r,err)}
func TestXRename(t *testing.T){ r,err:=benchRename(context.Background(), t.TempDir(), 1); fmt.Println(r,err)}
