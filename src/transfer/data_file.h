// The data files of a backup: items in checked blocks, in the order of their keys.
//
//   file   := header { block }
//   header := "STATORBK" version:4 number:4 id:24      number: of the file, from 1; id: the
//                                                      backup's, with a zero byte behind it
//   block  := bytes:4 items:4 hash:8 payload           hash: XXH3-64 of the payload
//   payload := { length:4 item }                       item: in the encoding of model/value.h
//
// Numbers are little-endian. The manifest has the size and the checksum of each file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "transfer/folders.h"
#include "transfer/manifest.h"

namespace stator::transfer {

inline constexpr uint32_t kDataVersion = 1;

struct DataLimits {
  size_t block_bytes = 256 << 10;  // a block is closed when its payload has this size
  uint64_t file_bytes = 64 << 20;  // a file is closed when it has this size
};

// Writes the data files of one backup. Not thread-safe.
class DataWriter {
 public:
  DataWriter(Folders& folders, std::string backup_id, DataLimits limits = {});
  ~DataWriter();
  Status Add(std::string_view item);
  // Returns the files once all of them are durable.
  Result<std::vector<DataFile>> Finish();
  // The bytes written so far.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Hash;
  Status StartFile();
  Status Append(std::string_view bytes);
  Status CloseBlock();
  Status CloseFile();

  Folders& folders_;
  const std::string id_;
  const DataLimits limits_;
  std::vector<DataFile> files_;
  std::unique_ptr<ObjectWriter> object_;  // null between files
  std::unique_ptr<Hash> hash_;            // of the file
  std::string block_;                     // with room for its head
  uint32_t block_items_ = 0;
  uint64_t bytes_ = 0;
};

// Visits the items of one data file in order. kCorruption, with the file's name, if the file is not
// what the manifest says, is of another backup, or has a damaged block; items of earlier blocks
// have been visited then. An item's bytes are as they were written and may be no item (CheckItem).
// An error of `visit` is returned.
Status ReadDataFile(Folders& folders, const Manifest& manifest, size_t number,
                    FunctionRef<Status(std::string_view item)> visit);

}  // namespace stator::transfer
