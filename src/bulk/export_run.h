// `stator export`: a table of any endpoint to files, by a parallel scan that can be interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api_client/endpoint.h"
#include "base/result.h"
#include "bulk/format.h"
#include "bulk/job.h"
#include "bulk/mask.h"

namespace stator::bulk {

inline constexpr size_t kMostSegments = 64;

struct ExportSettings {
  api_client::Endpoint endpoint;
  std::string table;
  // A file for all segments; gzip if the name ends with ".gz". A directory, which is there or ends
  // with "/", gets a file for each segment.
  std::string to;
  Format format = Format::kDynamoDbJson;
  size_t segments = 4;
  std::vector<std::string> columns;  // of CSV; empty: those that a first scan finds
  std::optional<Mask> mask;
  bool consistent = false;  // strongly consistent reads
};

struct ExportReport {
  bool whole = false;  // else it was interrupted, and the same command goes on
  std::string progress_file;
  std::vector<std::string> files;
  int64_t items = 0;  // of all runs
  uint64_t bytes = 0;
  int64_t read_units = 0;  // this and the next: of this run
  int64_t micros = 0;
  std::vector<std::string> types;  // of CSV: "name=N" for columns that are no text
};

// Writes the files and a progress file beside them, which it removes at the end. Each page of the
// scan is durable in its file before the progress file counts it. A run that finds a progress file
// goes on: it cuts the files to what is counted. kValidation for settings that do not fit that file
// or the table, or an output that is there without one. The error of a full disk names the file.
Result<ExportReport> RunExport(const ExportSettings& settings, const Surroundings& around);

}  // namespace stator::bulk
