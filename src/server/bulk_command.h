// `stator export` and `stator import`: tables of any DynamoDB endpoint to files, and back
// (docs/import-export.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stator::server {

struct BulkCommand {
  enum class Call { kNone, kExport, kImport } call = Call::kNone;
  std::string endpoint_url;  // this and the next five: empty if not given
  std::string region;
  std::string profile;
  std::string ca_file;
  std::string mask_file;
  std::string format;
  std::vector<std::string> tables;   // one, but of an import from an endpoint
  std::vector<std::string> columns;  // of CSV
  bool quiet = false;
  int64_t patience_seconds = 120;

  std::string to;  // this and the next two: of export
  uint64_t segments = 4;
  bool consistent = false;

  std::vector<std::string> from;  // this and the rest: of import
  std::string create;
  std::string work_dir;
  std::vector<std::string> types;
  std::string delimiter = ",";
  uint64_t connections = 8;

  std::string from_endpoint;  // this and the rest: of an import from an endpoint
  std::string from_region;
  std::string from_profile;
  std::string from_ca;
  bool all_tables = false;
  int64_t read_units = 0;
  bool on_demand = false;
  bool into = false;
  bool follow = false;
  bool enable_stream = false;
  bool finish = false;
  std::string check = "all";
};

// Adds the subcommands; what is given goes to `command`.
void AddBulkCommands(CLI::App* app, BulkCommand* command);

// Returns the exit code: 0 if all items were moved, 1 for an error, which goes to standard error,
// and for items that were refused, 3 if the tables of an import from an endpoint are not equal, 130
// after SIGINT and 143 after SIGTERM. After all of these but 0 the same command goes on where it
// ended.
int Execute(const BulkCommand& command);

}  // namespace stator::server
