use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .map(|digit| char::from(digit).to_digit(16).unwrap() as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[track_caller]
fn check(decoder: &mut Decoder, block: &str, want: &[(&str, &str)]) {
    let headers = decoder.block(&hex(block)).unwrap();
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let headers: Vec<_> = headers.iter().map(|(n, v)| (text(n), text(v))).collect();
    let want: Vec<_> = want
        .iter()
        .map(|(n, v)| (String::from(*n), String::from(*v)))
        .collect();
    assert_eq!(headers, want);
}

/// RFC 7541, appendix C.6: answers with Huffman's code; the table holds 256 bytes, so entries go.
#[test]
fn the_answers_of_the_specification_read_as_it_says() {
    let mut decoder = Decoder {
        limit: 256,
        ..Decoder::default()
    };
    let private = ("cache-control", "private");
    let location = ("location", "https://www.example.com");
    let date = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    check(
        &mut decoder,
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        &[(":status", "302"), private, date, location],
    );
    assert_eq!(decoder.size, 222);
    check(
        &mut decoder,
        "4883 640e ffc1 c0bf",
        &[(":status", "307"), private, date, location],
    );
    assert_eq!(decoder.size, 222);
    check(
        &mut decoder,
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
         9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        &[
            (":status", "200"),
            private,
            ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
            location,
            ("content-encoding", "gzip"),
            (
                "set-cookie",
                "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ),
        ],
    );
    assert_eq!(decoder.size, 215);
}

#[test]
fn literals_without_a_table_are_read() {
    // Appendix C.2.1 to C.2.3
    let mut decoder = Decoder::default();
    check(
        &mut decoder,
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        &[("custom-key", "custom-header")],
    );
    check(&mut decoder, "be", &[("custom-key", "custom-header")]);
    check(
        &mut decoder,
        "040c 2f73 616d 706c 652f 7061 7468",
        &[(":path", "/sample/path")],
    );
    check(
        &mut decoder,
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &[("password", "secret")],
    );
    assert_eq!(decoder.table.len(), 1);
    // The table may be emptied at a block's beginning, and nowhere else.
    check(&mut decoder, "2088", &[(":status", "200")]);
    assert!(decoder.table.is_empty());
    assert_eq!(decoder.block(&hex("8820")), Err(Malformed));
}

#[test]
fn a_malformed_block_is_refused() {
    for block in [
        "80",                  // index 0
        "be",                  // an entry that is not there
        "3fe21f",              // a larger table than was offered
        "0003 6161",           // a name that ends too early
        "0082 ffff 0161",      // Huffman: more than seven bits of filling
        "0081 18 0161",        // Huffman: filled with something else than ones
        "0084 ffff fffc 0161", // Huffman: the end of all
        "7fff ffff ffff ff",   // an index without end
    ] {
        assert_eq!(
            Decoder::default().block(&hex(block)),
            Err(Malformed),
            "{block}"
        );
    }
}

#[test]
fn a_block_that_unpacks_to_too_much_is_refused() {
    let mut block = vec![0x40];
    write_string(&mut block, "x");
    write_string(&mut block, &"y".repeat(4000));
    block.extend_from_slice(&[0xbe; 20]);
    assert_eq!(Decoder::default().block(&block), Err(Malformed));
}

proptest! {
    #[test]
    fn what_we_write_reads_back(
        headers in prop::collection::vec(("[a-z-]{1,20}", "[ -~]{0,300}"), 0..10),
    ) {
        let mut block = Vec::new();
        for (name, value) in &headers {
            write(&mut block, name, value);
        }
        write(&mut block, ":path", "/");
        let mut want: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| (name.into_bytes(), value.into_bytes()))
            .collect();
        want.push((b":path".to_vec(), b"/".to_vec()));
        prop_assert_eq!(Decoder::default().block(&block), Ok(want));
    }

    #[test]
    fn any_bytes_are_headers_or_malformed(blocks in prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..200), 1..5)) {
        let mut decoder = Decoder::default();
        for block in blocks {
            let _ = decoder.block(&block);
            prop_assert!(decoder.size <= TABLE);
        }
    }
}
