// An outcome for people, for programs and for the eye.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// Lines of text.
std::string TextReport(const Scenario& scenario, const Outcome& outcome);
// One JSON object, described in docs/throughput.md.
std::string JsonReport(const Scenario& scenario, const Outcome& outcome);
// Returns an SVG: for each table and index the consumed units over time, and the heat by time and
// key range.
std::string HeatMap(const Scenario& scenario, const Outcome& outcome);

// One panel of a heat map of any columns and rows, which must outlive the call.
struct HeatPanel {
  std::string heading;
  std::span<const Column> columns;  // none: nothing is drawn
  std::span<const Row> rows;        // each with a value for each column
  std::span<const SplitMark> marks = {};
  std::array<std::string, 5> times = {};  // below it, evenly; empty: those of the picture
  bool names_short = false;               // keys are named on bands of any length
  std::string description = {};           // below the heading; may be empty
};
struct HeatPicture {
  std::string title;
  std::string description;           // may be empty
  std::vector<HeatPanel> panels;     // from top to bottom
  std::array<std::string, 5> times;  // below each panel without times of its own, evenly
};
std::string HeatMap(const HeatPicture& picture);

// "1h 30m", "45s".
std::string DurationText(double seconds);
// The times below a picture of `seconds`.
std::array<std::string, 5> TimesOf(double seconds);

}  // namespace stator::simulate
