package report

import (
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// colours are easy to tell apart, also for most who see colours differently.
var colours = []color.Color{
	color.RGBA{31, 119, 180, 255}, color.RGBA{255, 127, 14, 255}, color.RGBA{44, 160, 44, 255},
	color.RGBA{214, 39, 40, 255}, color.RGBA{148, 103, 189, 255}, color.RGBA{140, 86, 75, 255},
	color.RGBA{227, 119, 194, 255}, color.RGBA{127, 127, 127, 255}, color.RGBA{188, 189, 34, 255},
	color.RGBA{23, 190, 207, 255},
}

// crowd is how many lines of a legend have room above the data.
const crowd = 3

// Size of a picture, and dots an inch.
const (
	width      = 8 * vg.Inch
	height     = 4.5 * vg.Inch
	resolution = 120
)

// draw draws the chart. A client has the colour of its place in order, the same
// in all pictures.
func (c *chart) draw(s *Section, order []string, file string) error {
	p := plot.New()
	p.Title.Text = c.title
	p.X.Label.Text = c.label
	p.Y.Label.Text = c.unit
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.ThumbnailWidth = vg.Points(14)
	p.Title.Padding, p.X.Padding = vg.Points(8), vg.Points(8)
	grid := plotter.NewGrid()
	grid.Vertical.Color = color.Transparent
	grid.Horizontal.Color = color.Gray{Y: 225}
	p.Add(grid)
	places := c.places(s)
	all := c.series(s)
	for i := range all {
		shade := i
		if at := slices.Index(order, all[i].name); at >= 0 {
			shade = at
		}
		if err := c.add(p, &all[i], places, colours[shade%len(colours)], i, len(all)); err != nil {
			return err
		}
	}
	p.NominalX(places...)
	if c.bars {
		p.Y.Min = 0
		p.Y.Max *= 1.25 // for the legend
	} else {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{}
		p.Y.Max *= 3
	}
	p.X.Min, p.X.Max = -0.6, float64(len(places))-0.4
	if len(all) > crowd {
		p.Legend.Left = false
		p.X.Max += 0.5 * float64(len(places)) // for the legend
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	p.Draw(draw.New(canvas))
	return writePNG(canvas, file)
}

// add adds one of n series.
func (c *chart) add(p *plot.Plot, s *series, places []string, shade color.Color, i, n int) error {
	offset := float64(i) - float64(n-1)/2 // in widths of a bar, from the place's middle
	var low plotter.Values
	var points plotter.XYs
	var ranges []plotter.XYs
	for at, place := range places {
		v, ok := s.low[place]
		low = append(low, v)
		if !ok {
			continue
		}
		x := float64(at)
		if c.high != "" {
			x += offset * 0.8 / float64(n)
		}
		points = append(points, plotter.XY{X: x, Y: v})
		if high, ok := s.high[place]; ok {
			ranges = append(ranges, plotter.XYs{{X: x, Y: v}, {X: x, Y: high}})
		}
	}
	if c.bars {
		barWidth := vg.Points(250 / float64(n*len(places)))
		bars, err := plotter.NewBarChart(low, barWidth)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = shade, 0
		bars.Offset = barWidth * vg.Length(offset)
		p.Add(bars)
		p.Legend.Add(s.name, bars)
		return nil
	}
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = shade, vg.Points(1.5)
	scatter.Color, scatter.Shape, scatter.Radius = shade, draw.CircleGlyph{}, vg.Points(3)
	if c.high == "" {
		p.Add(line, scatter)
		p.Legend.Add(s.name, line, scatter)
		return nil
	}
	p.Add(scatter)
	p.Legend.Add(s.name, scatter)
	for _, r := range ranges {
		span, err := plotter.NewLine(r)
		if err != nil {
			return err
		}
		span.Color, span.Width = shade, vg.Points(4)
		p.Add(span)
	}
	return nil
}

// powers are ticks at powers of ten, and others between: labelled where there
// is room.
type powers struct{}

func (powers) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	roomy := high/low < 1e4
	for e := math.Floor(math.Log10(low)); math.Pow(10, e) <= high; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < low || v > high {
				continue
			}
			tick := plot.Tick{Value: v}
			if m == 1 || m == 3 && roomy {
				tick.Label = thousands(strconv.FormatFloat(v, 'f', int(max(-e, 0)), 64))
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func writePNG(canvas *vgimg.Canvas, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(f); err != nil {
		return err
	}
	return f.Close()
}
