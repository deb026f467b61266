import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretKey, signature } from '../src/api/sign.ts';
import { childOf, parseXml, textAt } from '../src/model/xml.ts';

// The example of the service's documentation: "Signature Version 4 test suite", get-vanilla-query.
test('a request is signed as the test suite of Signature Version 4 has it', async () => {
  const headers = await signature(
    {
      method: 'GET',
      target: '/?Param2=value2&Param1=value1',
      host: 'example.amazonaws.com',
      headers: {},
      body: '',
    },
    {
      keyId: 'AKIDEXAMPLE',
      key: await secretKey('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
      token: null,
    },
    'service',
    'us-east-1',
    new Date('2015-08-30T12:36:00Z'),
  );
  assert.equal(headers['X-Amz-Date'], '20150830T123600Z');
  assert.equal(
    headers.Authorization,
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ' +
      'SignedHeaders=host;x-amz-date, ' +
      'Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  );
});

test('the key of a secret cannot be read', async () => {
  const key = await secretKey('secret');
  assert.equal(key.extractable, false);
  await assert.rejects(crypto.subtle.exportKey('raw', key));
});

test('answers of IAM are read, and what is no XML is refused', () => {
  const root = parseXml(
    '<?xml version="1.0"?>\n<A xmlns="x:y"><B><C>a &lt;b&gt; &amp;amp; &#x41;</C><D/></B></A>\n',
  );
  assert.equal(textAt(root, 'B', 'C'), 'a <b> &amp; A');
  assert.deepEqual(childOf(root, 'B')?.children[1], { name: 'D', text: '', children: [] });
  assert.equal(textAt(root, 'none', 'C'), '');
  for (const text of ['', 'text', '<A>', '<A></B>', '</A>', '<A><B></A></B>', '<A', '<A>&</A'])
    assert.throws(() => parseXml(text), SyntaxError, text);
});
