// The objects of an export: data files and manifests, byte for byte as readers of the service's
// exports expect them.
//
//   PREFIX/AWSDynamoDB/ID/_started                     empty
//   PREFIX/AWSDynamoDB/ID/data/NAME.json.gz            of a full export
//   PREFIX/AWSDynamoDB/data/NAME.json.gz               of an incremental one
//   PREFIX/AWSDynamoDB/ID/manifest-files.json          a line for each data file
//   PREFIX/AWSDynamoDB/ID/manifest-summary.json        one line, written last
//   and .md5 beside both manifests: the MD5 of the other's bytes, in base64
//
// Names of data files are derived from the export's id, so that an export that is repeated after a
// crash replaces the files of the first attempt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exchange/gzip_stream.h"
#include "exchange/job.h"
#include "exchange/object_store.h"

namespace stator::exchange {

// MD5 of bytes that come in pieces. Not thread-safe.
class Md5 {
 public:
  Md5();
  ~Md5();
  void Add(std::string_view bytes);
  // Returns the 16 bytes. Once.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct ExportedFile {
  std::string key;
  int64_t items = 0;
  std::string md5;  // of the object as it is stored: 16 bytes
};

// Returns the key of an object of the export, such as "PREFIX/AWSDynamoDB/ID/manifest-files.json".
std::string ExportKeyOf(const ExportJob& job, std::string_view object);

// Writes the data files of one export. Not thread-safe.
class ExportDataWriter {
 public:
  // A file is closed when this many bytes are in it.
  static constexpr uint64_t kFileBytes = 64 << 20;

  ExportDataWriter(ObjectStore& store, const ExportJob& job, uint64_t file_bytes = kFileBytes);
  ~ExportDataWriter();
  // Adds the text of one item or record, with its line feed.
  Status Add(std::string_view line);
  // Returns the files, at least one, once all of them are durable.
  Result<std::vector<ExportedFile>> Finish();

 private:
  Status StartFile();
  Status Write();
  Status CloseFile();

  ObjectStore& store_;
  const ExportJob& job_;
  const uint64_t file_bytes_;
  std::vector<ExportedFile> files_;
  std::unique_ptr<transfer::ObjectWriter> object_;  // null between files
  std::unique_ptr<GzipWriter> gzip_;
  std::unique_ptr<Md5> md5_;
  std::string pending_;  // plain
  std::string packed_;
  uint64_t bytes_ = 0;  // of the open file
};

// Writes the empty object that marks that the export has begun.
Status WriteStarted(ObjectStore& store, const ExportJob& job);
// Writes the manifests of an export; `job` must be its final state. The export is complete with the
// last of these objects.
Status WriteManifests(ObjectStore& store, const ExportJob& job,
                      const std::vector<ExportedFile>& files);

// Writes an object of these bytes.
Status WriteObject(ObjectStore& store, const std::string& bucket, const std::string& key,
                   std::string_view bytes);

}  // namespace stator::exchange
