package changefeed

// TakeFilterPlaces takes every place for the evaluation of filters, until release is called.
func (f *Feed) TakeFilterPlaces() (release func()) {
	for range cap(f.filtering) {
		f.filtering <- struct{}{}
	}
	return func() {
		for range cap(f.filtering) {
			<-f.filtering
		}
	}
}
