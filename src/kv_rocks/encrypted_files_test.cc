#include "kv_rocks/encrypted_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/random.h"
#include "crypt/encrypted_file.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
namespace fs = std::filesystem;

std::shared_ptr<const crypt::FileKeys> Keys(const std::string& letters) {
  std::vector<std::string> masters;
  for (const char letter : letters) masters.emplace_back(crypt::kMasterKeyBytes, letter);
  return crypt::FileKeys::Make(masters).value();
}

std::string RandomText(Random& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Next());
  return text;
}

class EncryptedFilesTest : public testing::Test {
 protected:
  EncryptedFilesTest() { Use("a"); }
  void Use(const std::string& letters) {
    env_ = MakeEncryptedEnv(*rocksdb::Env::Default(), Keys(letters));
    files_ = env_->GetFileSystem();
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const IOStatus status = files_->NewWritableFile(Path(name), FileOptions(), &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  static IOStatus Append(rocksdb::FSWritableFile& file, const std::string& text) {
    return file.Append(text, IOOptions(), nullptr);
  }
  void Write(const std::string& name, const std::string& text) {
    const auto file = Create(name);
    ASSERT_TRUE(Append(*file, text).ok());
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  IOStatus OpenRandom(const std::string& name, std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                      bool direct = false) {
    FileOptions options;
    options.use_direct_reads = direct;
    return files_->NewRandomAccessFile(Path(name), options, file, nullptr);
  }
  IOStatus ReadAll(const std::string& name, std::string* text) {
    text->clear();
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    IOStatus status = files_->NewSequentialFile(Path(name), FileOptions(), &file, nullptr);
    if (!status.ok()) return status;
    std::string scratch(1000, '\0');
    for (;;) {
      Slice read;
      status = file->Read(scratch.size(), IOOptions(), &read, scratch.data(), nullptr);
      if (!status.ok() || read.empty()) return status;
      text->append(read.data(), read.size());
    }
  }
  uint64_t SizeOf(const std::string& name) {
    uint64_t bytes = 0;
    EXPECT_TRUE(files_->GetFileSize(Path(name), IOOptions(), &bytes, nullptr).ok());
    return bytes;
  }
  std::string Raw(const std::string& name) {
    std::ifstream in(Path(name), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<rocksdb::FileSystem> files_;
};

TEST_F(EncryptedFilesTest, RandomReadsAndWritesAreThoseOfAPlainFile) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE(seed);
  SeededRandom random(seed);
  for (int round = 0; round < 20; ++round) {
    std::string plain;
    const auto file = Create("f");
    const uint64_t appends = random.Below(20);
    for (uint64_t i = 0; i < appends; ++i) {
      const std::string part = RandomText(random, random.Below(i == 0 ? 700'000 : 5'000));
      ASSERT_TRUE(Append(*file, part).ok());
      plain += part;
      ASSERT_EQ(file->GetFileSize(IOOptions(), nullptr), plain.size());
      if (random.Below(3) == 0) {
        ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
      }
    }
    ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
    EXPECT_EQ(SizeOf("f"), plain.size());
    EXPECT_EQ(fs::file_size(Path("f")), plain.size() + crypt::kHeaderBytes);
    if (plain.size() > 100) {
      EXPECT_EQ(Raw("f").find(plain.substr(plain.size() / 2, 16)), std::string::npos);
    }
    std::string read;
    ASSERT_TRUE(ReadAll("f", &read).ok());
    ASSERT_EQ(read, plain);
    const Result<crypt::FileReader> reader = crypt::FileReader::Open(Path("f"), Keys("a").get());
    ASSERT_TRUE(reader.ok());
    ASSERT_EQ(reader->size(), plain.size());
    std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
    ASSERT_TRUE(OpenRandom("f", &opened).ok());
    for (int i = 0; i < 200; ++i) {
      const size_t at = random.Below(plain.size() + 10);
      std::string scratch(random.Below(10'000) + 1, '\0');
      Slice got;
      ASSERT_TRUE(
          opened->Read(at, scratch.size(), IOOptions(), &got, scratch.data(), nullptr).ok());
      const std::string expected =
          at < plain.size() ? plain.substr(at, scratch.size()) : std::string();
      ASSERT_EQ(got.ToString(), expected);
      ASSERT_TRUE(reader->Read(at, scratch.size(), &read).ok());
      ASSERT_EQ(read, expected);
    }
  }
}

TEST_F(EncryptedFilesTest, ManyReadsAtOnceAndSkipsAreThoseOfAPlainFile) {
  SeededRandom random(7);
  const std::string plain = RandomText(random, 50'000);
  Write("f", plain);
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(OpenRandom("f", &file).ok());
  std::vector<std::string> scratch(5, std::string(3000, '\0'));
  std::vector<rocksdb::FSReadRequest> requests(5);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].offset = i * 11'003;
    requests[i].len = scratch[i].size();
    requests[i].scratch = scratch[i].data();
  }
  ASSERT_TRUE(file->MultiRead(requests.data(), requests.size(), IOOptions(), nullptr).ok());
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(requests[i].status.ok());
    EXPECT_EQ(requests[i].offset, i * 11'003);
    EXPECT_EQ(requests[i].result.ToString(), plain.substr(i * 11'003, 3000));
  }
  std::unique_ptr<rocksdb::FSSequentialFile> sequential;
  ASSERT_TRUE(files_->NewSequentialFile(Path("f"), FileOptions(), &sequential, nullptr).ok());
  ASSERT_TRUE(sequential->Skip(12'345).ok());
  Slice got;
  ASSERT_TRUE(sequential->Read(100, IOOptions(), &got, scratch[0].data(), nullptr).ok());
  EXPECT_EQ(got.ToString(), plain.substr(12'345, 100));
}

TEST_F(EncryptedFilesTest, DirectReadsWork) {
  SeededRandom random(8);
  const std::string plain = RandomText(random, 100'000);
  Write("f", plain);
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  const IOStatus opened = OpenRandom("f", &file, true);
  if (!opened.ok()) GTEST_SKIP() << "the file system has no direct reads: " << opened.ToString();
  const std::unique_ptr<char, decltype(&std::free)> scratch(
      static_cast<char*>(std::aligned_alloc(4096, 16'384)), &std::free);
  for (const uint64_t at : {0, 4096, 40'960}) {
    Slice got;
    ASSERT_TRUE(file->Read(at, 16'384, IOOptions(), &got, scratch.get(), nullptr).ok());
    EXPECT_EQ(got.ToString(), plain.substr(at, 16'384));
  }
  FileOptions direct;
  direct.use_direct_reads = true;
  std::unique_ptr<rocksdb::FSSequentialFile> sequential;
  ASSERT_TRUE(files_->NewSequentialFile(Path("f"), direct, &sequential, nullptr).ok());
  Slice got;
  ASSERT_TRUE(
      sequential->PositionedRead(8192, 4096, IOOptions(), &got, scratch.get(), nullptr).ok());
  EXPECT_EQ(got.ToString(), plain.substr(8192, 4096));
}

TEST_F(EncryptedFilesTest, MapsAndWritesInPlaceAreRefused) {
  Write("f", "text");
  FileOptions options;
  options.use_mmap_reads = true;
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  EXPECT_TRUE(files_->NewRandomAccessFile(Path("f"), options, &file, nullptr).IsInvalidArgument());
  options = FileOptions();
  options.use_direct_writes = true;
  std::unique_ptr<rocksdb::FSWritableFile> written;
  EXPECT_TRUE(files_->NewWritableFile(Path("g"), options, &written, nullptr).IsInvalidArgument());
  EXPECT_FALSE(fs::exists(Path("g")));
  std::unique_ptr<rocksdb::FSRandomRWFile> changed;
  EXPECT_TRUE(
      files_->NewRandomRWFile(Path("f"), FileOptions(), &changed, nullptr).IsNotSupported());
  std::unique_ptr<rocksdb::MemoryMappedFileBuffer> mapped;
  EXPECT_TRUE(files_->NewMemoryMappedFileBuffer(Path("f"), &mapped).IsNotSupported());
}

TEST_F(EncryptedFilesTest, NothingIsEncryptedTwiceAtOnePlace) {
  const auto file = Create("f");
  ASSERT_TRUE(Append(*file, "0123456789").ok());
  EXPECT_TRUE(file->PositionedAppend("x", 0, IOOptions(), nullptr).IsNotSupported());
  ASSERT_TRUE(file->Truncate(10, IOOptions(), nullptr).ok());
  ASSERT_TRUE(Append(*file, "abc").ok());
  ASSERT_TRUE(file->Truncate(5, IOOptions(), nullptr).ok());
  EXPECT_TRUE(Append(*file, "abc").IsNotSupported());
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  std::string text;
  ASSERT_TRUE(ReadAll("f", &text).ok());
  EXPECT_EQ(text, "01234");
  std::unique_ptr<rocksdb::FSWritableFile> again;
  ASSERT_TRUE(files_->ReopenWritableFile(Path("f"), FileOptions(), &again, nullptr).ok());
  EXPECT_EQ(again->GetFileSize(IOOptions(), nullptr), 5u);
  EXPECT_TRUE(Append(*again, "abc").IsNotSupported());
  ASSERT_TRUE(again->Truncate(3, IOOptions(), nullptr).ok());
  ASSERT_TRUE(again->Close(IOOptions(), nullptr).ok());
  ASSERT_TRUE(ReadAll("f", &text).ok());
  EXPECT_EQ(text, "012");
  EXPECT_EQ(SizeOf("f"), 3u);
}

TEST_F(EncryptedFilesTest, ReusedAndReopenedFilesBeginANewKey) {
  Write("old", std::string(10'000, 'x'));
  const std::string before = Raw("old");
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(
      files_->ReuseWritableFile(Path("new"), Path("old"), FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(Append(*file, std::string(10'000, 'x')).ok());
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  EXPECT_FALSE(fs::exists(Path("old")));
  EXPECT_EQ(SizeOf("new"), 10'000u);
  EXPECT_NE(Raw("new").substr(crypt::kHeaderBytes), before.substr(crypt::kHeaderBytes));
  ASSERT_TRUE(files_->ReopenWritableFile(Path("none"), FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(Append(*file, "text").ok());
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  std::string text;
  ASSERT_TRUE(ReadAll("none", &text).ok());
  EXPECT_EQ(text, "text");
}

TEST_F(EncryptedFilesTest, TornHeaderReadsAsAnEmptyFile) {
  Write("f", "text");
  const std::string whole = Raw("f");
  std::vector<std::string> torn = {"", whole.substr(0, 1), whole.substr(0, 16),
                                   whole.substr(0, crypt::kHeaderBytes - 1),
                                   std::string(whole.size(), '\0')};
  for (const std::string& bytes : torn) {
    std::ofstream(Path("t"), std::ios::binary | std::ios::trunc) << bytes;
    std::string text;
    ASSERT_TRUE(ReadAll("t", &text).ok()) << bytes.size();
    EXPECT_EQ(text, "");
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    ASSERT_TRUE(OpenRandom("t", &file).ok());
    char scratch[10];
    Slice got;
    ASSERT_TRUE(file->Read(0, sizeof scratch, IOOptions(), &got, scratch, nullptr).ok());
    EXPECT_TRUE(got.empty());
    if (bytes.size() < crypt::kHeaderBytes) {
      EXPECT_EQ(SizeOf("t"), 0u);
    }
  }
}

TEST_F(EncryptedFilesTest, AnotherKeyAndEveryFlippedByteOfTheHeaderAreRefused) {
  Write("f", "text");
  std::string text;
  Use("b");
  EXPECT_TRUE(ReadAll("f", &text).IsIOError());
  Use("a");
  const std::string whole = Raw("f");
  for (size_t i = 0; i < crypt::kHeaderBytes; ++i) {
    const auto put = [&](char byte) {
      std::fstream file(Path("f"), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(i)).put(byte);
    };
    put(static_cast<char>(whole[i] ^ 0x10));
    ASSERT_FALSE(ReadAll("f", &text).ok()) << "byte " << i;
    if (i % 64 == 0) {
      std::unique_ptr<rocksdb::FSRandomAccessFile> file;
      EXPECT_FALSE(OpenRandom("f", &file).ok());
      std::unique_ptr<rocksdb::FSWritableFile> again;
      EXPECT_FALSE(files_->ReopenWritableFile(Path("f"), FileOptions(), &again, nullptr).ok());
    }
    put(whole[i]);
  }
  ASSERT_TRUE(ReadAll("f", &text).ok());
  EXPECT_EQ(text, "text");
}

TEST_F(EncryptedFilesTest, RenewedHeaderOpensWithTheNewKeyOnly) {
  Write("f", "text");
  const std::string before = Raw("f");
  EXPECT_FALSE(crypt::RenewHeader(Path("f"), *Keys("b")).ok());
  EXPECT_EQ(Raw("f"), before);
  EXPECT_TRUE(crypt::RenewHeader(Path("f"), *Keys("ba")).value());
  EXPECT_FALSE(crypt::RenewHeader(Path("f"), *Keys("ba")).value());
  EXPECT_EQ(Raw("f").substr(crypt::kHeaderBytes), before.substr(crypt::kHeaderBytes));
  std::string text;
  EXPECT_FALSE(ReadAll("f", &text).ok());
  Use("b");
  ASSERT_TRUE(ReadAll("f", &text).ok());
  EXPECT_EQ(text, "text");
}

TEST_F(EncryptedFilesTest, MessagesOfRocksDbAreEncrypted) {
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_TRUE(files_->NewLogger(Path("LOG"), IOOptions(), &logger, nullptr).ok());
  rocksdb::Log(rocksdb::InfoLogLevel::ERROR_LEVEL, logger, "the key is %s", "secret-key");
  rocksdb::Log(rocksdb::InfoLogLevel::ERROR_LEVEL, logger, "%s", std::string(100'000, 'y').c_str());
  logger.reset();
  std::string text;
  ASSERT_TRUE(ReadAll("LOG", &text).ok());
  EXPECT_THAT(text, testing::HasSubstr("the key is secret-key\n"));
  EXPECT_LT(text.size(), 70'000u);
  EXPECT_EQ(Raw("LOG").find("secret"), std::string::npos);
}

}  // namespace
}  // namespace stator::kv_rocks
