import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Writes two files to standard output as a ZIP, one after the other. */
class Stream {
    public static void main(String[] arguments) throws Exception {
        ZipOutputStream zip = new ZipOutputStream(System.out);
        for (String name : new String[] { "a.txt", "sub/numbers.txt" }) {
            zip.putNextEntry(new ZipEntry(name));
            zip.write(Files.readAllBytes(Paths.get(name)));
            zip.closeEntry();
        }
        zip.close();
    }
}
