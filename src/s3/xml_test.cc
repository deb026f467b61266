#include "s3/xml.h"

#include <gtest/gtest.h>

namespace stator::s3 {
namespace {

TEST(Xml, FindsElementsByNameWhateverTheirAttributes) {
  constexpr std::string_view kXml =
      "<?xml version=\"1.0\"?><List xmlns=\"http://x/\"><Name>b</Name><Next/><Contents><Key>a</Key>"
      "</Contents><Contents><Key>b</Key></Contents><NextContinuationToken>t</NextContinuationToken>"
      "</List>";
  EXPECT_EQ(TextIn(kXml, "Name"), "b");
  EXPECT_EQ(ElementIn(kXml, "Next"), "");
  EXPECT_EQ(TextIn(kXml, "NextContinuationToken"), "t");
  EXPECT_EQ(ElementsIn(kXml, "Contents", 3),
            (std::vector<std::string_view>{"<Key>a</Key>", "<Key>b</Key>"}));
  EXPECT_EQ(ElementsIn(kXml, "Contents", 1), (std::vector<std::string_view>{"<Key>a</Key>"}));
  EXPECT_EQ(ElementIn(kXml, "Error"), std::nullopt);
  EXPECT_EQ(ElementIn(kXml, "Content"), std::nullopt);
}

TEST(Xml, ReplacesEntitiesAndCharacterReferences) {
  EXPECT_EQ(XmlText("a&amp;b&lt;c&gt;&quot;d&quot;&apos;&#252;&#x1F600;"),
            "a&b<c>\"d\"'\xc3\xbc\xf0\x9f\x98\x80");
  EXPECT_EQ(XmlText("a & b &unknown; &#xZZ; &#x110000; &"), "a & b &unknown; &#xZZ; &#x110000; &");
}

TEST(Xml, WhatDoesNotEndIsNone) {
  for (const std::string_view xml : {"<Key", "<Key>", "<Key>a", "<Key>a</Key", "", "<", "<Key "})
    EXPECT_EQ(ElementIn(xml, "Key"), std::nullopt) << xml;
}

// 8 MB: seconds where each entity or tag is looked for up to the end of the text, none otherwise.
// The time is not judged, for a build that does it hangs.
TEST(Xml, TextOfAHostileServerIsReadOnce) {
  constexpr size_t kBytes = 8 << 20;
  EXPECT_EQ(XmlText(std::string(kBytes, '&')).size(), kBytes);
  std::string tags;
  while (tags.size() < kBytes) tags += "<ContentsX";
  tags += "><Key>a</Key>";
  EXPECT_EQ(ElementIn(tags, "Contents"), std::nullopt);
  EXPECT_EQ(TextIn(tags, "Key"), "a");
  std::string open;
  while (open.size() < kBytes) open += "<Contents>";
  EXPECT_TRUE(ElementsIn(open, "Contents", kBytes).empty());
}

}  // namespace
}  // namespace stator::s3
