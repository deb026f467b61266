#include "exchange/export_writer.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <utility>

#include "base/base64.h"
#include "base/json_writer.h"
#include "base/time_text.h"

namespace stator::exchange {
namespace {

// Plain bytes that are compressed at a time.
constexpr size_t kPendingBytes = 256 << 10;

std::string Base64Of(std::string_view bytes) {
  std::string text(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, text.data());
  return text;
}

std::string HexOf(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

std::string Md5Of(std::string_view bytes) {
  Md5 md5;
  md5.Add(bytes);
  return md5.Finish();
}

// Returns 26 characters of a-z and 2-7.
std::string NameOf(const ExportJob& job, size_t number) {
  constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
  const std::string bytes = Md5Of(fmt::format("{}/{}", job.id, number));
  std::string name;
  uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    for (held += 8; held >= 5; held -= 5) name += kDigits[bits >> (held - 5) & 31];
  }
  name += kDigits[bits << (5 - held) & 31];
  return name;
}

std::string RootOf(const ExportJob& job) {
  std::string root = job.prefix.value_or("");
  if (!root.empty() && !root.ends_with('/')) root += '/';
  return root + "AWSDynamoDB/";
}

std::string FilesManifestOf(const std::vector<ExportedFile>& files) {
  std::string text;
  for (const ExportedFile& file : files) {
    JsonWriter line;
    line.Open('{').Key("itemCount").Whole(file.items);
    line.Field("md5Checksum", Base64Of(file.md5)).Field("etag", HexOf(file.md5));
    line.Field("dataFileS3Key", file.key).Close('}');
    text += line.Take();
  }
  return text;
}

void MaybeText(JsonWriter* out, std::string_view name, const std::optional<std::string>& text) {
  out->Key(name);
  if (text && !text->empty()) {
    out->Text(*text);
  } else {
    out->Null();
  }
}

std::string SummaryOf(const ExportJob& job) {
  JsonWriter out;
  out.Open('{').Field("version", job.window ? "2023-08-01" : "2020-06-30");
  out.Field("exportArn", job.table_arn + "/export/" + job.id);
  out.Field("startTime", FormatTime(job.start_micros)).Field("endTime", FormatTime(job.end_micros));
  out.Field("tableArn", job.table_arn).Field("tableId", job.table_id);
  if (job.window) {
    out.Field("exportFromTime", FormatTime(job.window->shown_from_micros));
    out.Field("exportToTime", FormatTime(job.window->shown_to_micros));
  } else {
    out.Field("exportTime", FormatTime(job.shown_micros));
  }
  out.Field("s3Bucket", job.bucket);
  MaybeText(&out, "s3Prefix", job.prefix);
  out.Field("s3SseAlgorithm", job.key_service ? "KMS" : "AES256");
  MaybeText(&out, "s3SseKmsKeyId", job.key_id);
  out.Field("manifestFilesS3Key", ExportKeyOf(job, "manifest-files.json"));
  out.Key("billedSizeBytes").Whole(job.billed_bytes).Key("itemCount").Whole(job.items);
  out.Field("outputFormat", job.format == Format::kIon ? "ION" : "DYNAMODB_JSON");
  if (job.window) {
    out.Field("outputView",
              job.window->view == View::kNewImage ? "NEW_IMAGE" : "NEW_AND_OLD_IMAGES");
  }
  out.Field("exportType", job.window ? "INCREMENTAL_EXPORT" : "FULL_EXPORT").Close('}');
  return out.Take();
}

}  // namespace

struct Md5::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Md5::Md5() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_md5(), nullptr);
}
Md5::~Md5() = default;

void Md5::Add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Md5::Finish() {
  std::string digest(16, '\0');
  EVP_DigestFinal_ex(state_->context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

std::string ExportKeyOf(const ExportJob& job, std::string_view object) {
  return fmt::format("{}{}/{}", RootOf(job), job.id, object);
}

ExportDataWriter::ExportDataWriter(ObjectStore& store, const ExportJob& job, uint64_t file_bytes)
    : store_(store), job_(job), file_bytes_(file_bytes) {}

ExportDataWriter::~ExportDataWriter() = default;

Status ExportDataWriter::StartFile() {
  const std::string folder = job_.window ? RootOf(job_) + "data/" : ExportKeyOf(job_, "data/");
  const std::string key = fmt::format("{}{}.{}.gz", folder, NameOf(job_, files_.size()),
                                      job_.format == Format::kIon ? "ion" : "json");
  ASSIGN_OR_RETURN(object_, store_.Write(job_.bucket, key));
  gzip_ = std::make_unique<GzipWriter>();
  md5_ = std::make_unique<Md5>();
  bytes_ = 0;
  files_.push_back({key, 0, {}});
  return OkStatus();
}

Status ExportDataWriter::Write() {
  md5_->Add(packed_);
  bytes_ += packed_.size();
  TRY(object_->Append(packed_));
  packed_.clear();
  return OkStatus();
}

Status ExportDataWriter::CloseFile() {
  gzip_->Add(pending_, &packed_);
  pending_.clear();
  gzip_->Finish(&packed_);
  TRY(Write());
  TRY(object_->Finish());
  files_.back().md5 = md5_->Finish();
  object_ = nullptr;
  return OkStatus();
}

Status ExportDataWriter::Add(std::string_view line) {
  if (object_ == nullptr) TRY(StartFile());
  pending_.append(line);
  ++files_.back().items;
  if (pending_.size() < kPendingBytes) return OkStatus();
  gzip_->Add(pending_, &packed_);
  pending_.clear();
  TRY(Write());
  return bytes_ < file_bytes_ ? OkStatus() : CloseFile();
}

Result<std::vector<ExportedFile>> ExportDataWriter::Finish() {
  if (files_.empty()) TRY(StartFile());
  if (object_ != nullptr) TRY(CloseFile());
  return std::move(files_);
}

Status WriteObject(ObjectStore& store, const std::string& bucket, const std::string& key,
                   std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<transfer::ObjectWriter> object, store.Write(bucket, key));
  TRY(object->Append(bytes));
  return object->Finish();
}

Status WriteStarted(ObjectStore& store, const ExportJob& job) {
  return WriteObject(store, job.bucket, ExportKeyOf(job, "_started"), "");
}

Status WriteManifests(ObjectStore& store, const ExportJob& job,
                      const std::vector<ExportedFile>& files) {
  const auto write = [&](std::string_view object, std::string_view text) {
    return WriteObject(store, job.bucket, ExportKeyOf(job, object), text);
  };
  const std::string list = FilesManifestOf(files);
  const std::string summary = SummaryOf(job);
  TRY(write("manifest-files.json", list));
  TRY(write("manifest-files.md5", Base64Of(Md5Of(list))));
  TRY(write("manifest-summary.md5", Base64Of(Md5Of(summary))));
  return write("manifest-summary.json", summary);
}

}  // namespace stator::exchange
