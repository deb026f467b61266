// `stator import`: items of files into a table of any endpoint, by batches of puts that can be
// interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api_client/endpoint.h"
#include "base/result.h"
#include "bulk/import_file.h"
#include "bulk/job.h"
#include "bulk/mask.h"

namespace stator::bulk {

inline constexpr size_t kMostConnections = 64;

struct ImportSettings {
  api_client::Endpoint endpoint;
  std::string table;
  std::vector<std::string> from;  // files and directories
  InputOptions input;
  // The key of the table, which is made on demand if it is not there; else it must be there.
  std::optional<model::KeySchema> create;
  std::string work_dir;  // of progress files and logs of errors; empty: beside each file
  size_t connections = 8;
  std::optional<Mask> mask;
};

struct ImportReport {
  bool whole = false;  // else it was interrupted, and the same command goes on
  int64_t items = 0;   // of the files that were put; this and the next: of all runs
  int64_t errors = 0;  // items that were refused
  std::vector<std::string> error_files;
  int64_t put = 0;    // this and the next two: of this run
  int64_t bytes = 0;  // of the items' JSON
  int64_t micros = 0;
  std::string first_error;  // of this run: the file, the item and the reason; empty: none
};

// Puts the items of all files. Puts replace items of the same key; of several items of one key in
// the files one stays. A run that finds progress files goes on: it reads again, and does not put
// again, what they count. Items that cannot be put are counted and logged (FileProgress). The
// progress files are removed at the end.
Result<ImportReport> RunImport(const ImportSettings& settings, const Surroundings& around);

// "pk:S" or "pk:S,sk:N". kValidation for another text.
Result<model::KeySchema> ParseKey(std::string_view text);

}  // namespace stator::bulk
